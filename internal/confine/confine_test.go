package confine

import (
	"bytes"
	"testing"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	want := Task{Work: "judge", Limits: Limits{}.OrDefault()}
	work, got, err := parseArguments(want.arguments())
	if err != nil || work != want.Work || got.Memory != want.Limits.Memory || got.CPU != want.Limits.CPU {
		t.Errorf("got %s %+v %v", work, got, err)
	}
	for _, args := range [][]string{nil, {Argument}, {Argument, "judge", "1"}, {Argument, "judge", "0", "1"}, {Argument, "judge", "1", "0"},
		{Argument, "judge", "x", "1"}, {Argument, "judge", "-1", "1"}, {Argument, "judge", "1", "1", "1"}, {"judge", Argument, "1", "1"}} {
		if _, _, err := parseArguments(args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

// FuzzAnswer: whatever a child says is one frame with nothing after it, or no answer.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{"", "{}", "a longer answer"} {
		var frame bytes.Buffer
		if err := writeFrame(&frame, []byte(body)); err != nil {
			f.Fatal(err)
		}
		f.Add(frame.Bytes())
		f.Add(append(frame.Bytes(), 'x'))
		f.Add(frame.Bytes()[:frame.Len()/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if body, err := only(data); err == nil && len(body) != len(data)-8 {
			t.Errorf("%d bytes of %d", len(body), len(data))
		}
		if body, size, err := readAnswer(bytes.NewReader(data), 10); err == nil && (len(body) != size || size > 10) {
			t.Errorf("%d bytes, said to be %d", len(body), size)
		}
	})
}
