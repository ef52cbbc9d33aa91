package tfc

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestMembers: settings come to the attributes that they would be as JSON, whatever
// they are of.
func TestMembers(t *testing.T) {
	t.Parallel()
	for _, settings := range []any{&workspaceSettings{}, &projectSettings{}, &organisationSettings{}, &teamSettings{}, &stackFlags{},
		&policySettings{}, &policySetSettings{}, &policySetParameterSettings{}, &notificationSettings{}, &oauthClientSettings{}, &moduleVersionSettings{}} {
		kind := reflect.TypeOf(settings).Elem()
		t.Run(kind.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				object := reflect.New(kind)
				draw(t, object.Elem())
				attributes := map[string]any{"name": "its own"}
				addMembers(attributes, object.Elem())
				want := plain(t, object.Interface())
				want["name"] = "its own"
				if diff := cmp.Diff(want, plain(t, attributes)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// draw sets some of the fields of a struct.
func draw(t *rapid.T, object reflect.Value) {
	for i := range object.NumField() {
		field, name := object.Field(i), object.Type().Field(i).Name
		switch {
		case object.Type().Field(i).Anonymous:
			draw(t, field)
		case rapid.Bool().Draw(t, name+" is not set"):
		case field.Kind() == reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case field.Type() == reflect.TypeFor[json.RawMessage]():
			field.SetBytes([]byte(`{"a": [1]}`))
		case field.Kind() == reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case field.Kind() == reflect.String:
			field.SetString("text")
		case field.Kind() == reflect.Bool:
			field.SetBool(true)
		default:
			t.Fatalf("%s: nobody can say what would be a %s", name, field.Type())
		}
	}
}

// plain is what somebody reads of v in JSON.
func plain(t *rapid.T, v any) (read map[string]any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}
