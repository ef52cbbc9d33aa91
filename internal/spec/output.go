package spec

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"cuelang.org/go/cue"

	"github.com/assize-iac/assize/internal/spec/schema"
)

// outputs writes what the specification puts out: $output: name: value. One that
// refers to something sensitive is sensitive itself; the tool would refuse it
// otherwise.
func (c *compiler) outputs() error {
	v := c.value.LookupPath(cue.MakePath(cue.Str("$output")))
	if !v.Exists() {
		return nil
	}
	it, err := v.Fields()
	if err != nil || v.IncompleteKind() != cue.StructKind {
		return c.src.wrong(v, "each output has a name").WithHint("write: $output: NAME: VALUE")
	}
	c.out.Outputs = map[string]map[string]any{}
	for it.Next() {
		name := it.Selector().Unquoted()
		if !outputName.MatchString(name) {
			return c.src.wrong(it.Value(), "the tool has no output of this name").
				WithHint("others read it by its name: letters, digits, _ and -, and a letter or _ first")
		}
		e, err := c.argument(it.Value())
		if err != nil {
			return err
		}
		body := map[string]any{"value": e.json()}
		if c.secret(it.Value(), map[string]bool{}) {
			body["sensitive"] = true
		}
		c.out.Outputs[name] = body
		c.counts.Outputs++
	}
	return nil
}

// outputName matches what the tool may call an output.
var outputName = regexp.MustCompile(`^[\pL_][\pL\pM\pN_-]*$`)

// settings reads $settings, which takes state and refresh and nothing else (seed
// 003, "The trust anchor"). Where nothing is said of the state, it is a file beside
// the specification.
func (c *compiler) settings(s *Specification) error {
	c.terraform("backend", map[string]any{"local": filed(map[string]any{})})
	v := c.value.LookupPath(cue.MakePath(cue.Str("$settings")))
	if !v.Exists() {
		return nil
	}
	it, err := v.Fields()
	if err != nil {
		return c.src.refuse(err)
	}
	for it.Next() {
		switch name := it.Selector().Unquoted(); name {
		case "state":
			if err := c.backend(it.Value()); err != nil {
				return err
			}
		case "refresh":
			if err := c.refresh(it.Value(), s); err != nil {
				return err
			}
		default:
			wrong := invalid("$settings.%s is not a setting (the block takes state and refresh)", name)
			if best := closest(name, []string{"state", "refresh"}); best != "" {
				return wrong.WithHint("did you mean %s?", best)
			}
			return wrong.WithHint("policies are named by whoever runs assize, not by a specification")
		}
	}
	return nil
}

// refresh reads $settings.refresh: whether a plan looks at everything that the state
// knows, or for how long it need not once nothing had changed.
func (c *compiler) refresh(v cue.Value, s *Specification) error {
	if always, err := v.Bool(); err == nil {
		s.Refresh.Never = !always
		return nil
	}
	text, err := v.String()
	age, wrong := time.ParseDuration(text)
	if err != nil || wrong != nil || age <= 0 {
		return c.src.wrong(v, "it is true, false, or an age").
			WithHint(`write $settings: refresh: "1h" to have nothing looked at again for an hour; the tools refresh everything or nothing`)
	}
	s.Refresh.Age = age
	return nil
}

func (c *compiler) terraform(name string, value any) {
	if c.out.Terraform == nil {
		c.out.Terraform = map[string]any{}
	}
	c.out.Terraform[name] = value
}

// backend writes where the state is: the name of one of the tool's backends, with
// its settings. A file is meant from where the specification is.
func (c *compiler) backend(v cue.Value) error {
	names := keys(v)
	if len(names) != 1 {
		return c.src.wrong(v, "$settings.state names one backend, and this has %d", len(names)).
			WithHint(`write: $settings: state: s3: {bucket: "...", key: "...", region: "..."}`)
	}
	e, err := c.argument(v.LookupPath(cue.MakePath(cue.Str(names[0]))))
	if err != nil {
		return err
	}
	if strings.Contains(e.code(), "${") {
		return c.src.wrong(v, "where the state is must be known before anything is applied").
			WithHint("write it as text that needs no apply")
	}
	settings, ok := e.json().(map[string]any)
	if !ok {
		return c.src.wrong(v, "the settings of a backend are a struct")
	}
	if names[0] == "local" {
		filed(settings)
	}
	if names[0] == "cloud" { // which is no backend in the tools' language, and stands beside them
		delete(c.out.Terraform, "backend")
		c.terraform("cloud", settings)
		return nil
	}
	c.terraform("backend", map[string]any{names[0]: settings})
	return nil
}

// filed has the files of the local backend, that of each workspace too, lie where the
// specification is, whose private directory may be removed at any time. To the tool a
// setting that is empty is none.
func filed(settings map[string]any) map[string]any {
	for name, usual := range map[string]string{"path": "terraform.tfstate", "workspace_dir": "terraform.tfstate.d"} {
		file, ok := settings[name].(string)
		if file == "" && (ok || settings[name] == nil) {
			file, ok = usual, true
		}
		if ok && !filepath.IsAbs(file) {
			settings[name] = path.Join(schema.Root, file)
		}
	}
	return settings
}

// places are where everything is, by the tool's address, and where the state is said to
// be, by what the tool calls that.
func (c *compiler) places() map[string]Place {
	all := map[string]Place{}
	for at, i := range c.items {
		file, line := c.src.where(i.value)
		all[at] = Place{Path: i.path, File: file, Line: line}
	}
	if v := c.value.LookupPath(cue.MakePath(cue.Str("$settings"), cue.Str("state"))); v.Exists() {
		file, line := c.src.where(v)
		all["terraform.backend"] = Place{Path: "$settings.state", File: file, Line: line}
	}
	return all
}
