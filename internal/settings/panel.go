package settings

import "path"

// A Panel is what one assize.yaml has to say of who judges a stack. Paths begin
// at the root of the one that governs, so that those of two files are never taken
// for each other (docs/configuration.md, rule 33).
type Panel struct {
	Place      string   // of the file's directory, from the governing root: "", or such as "../.."
	Policies   []Policy // those that bind the stack
	Exceptions Text     // a file of exceptions to what these policies say, and no others; "" is none
}

// Panel is that of a file in the directory place, for the stack in the directory
// stack, which is relative to that directory. Both are slash-separated.
func (r *Root) Panel(place, stack string) Panel {
	panel := Panel{Place: place, Exceptions: r.Exceptions}
	if r.Exceptions.Value != "" {
		panel.Exceptions.Value = rebased(place, r.Exceptions.Value)
	}
	for _, p := range r.Policies {
		if p.Binds(stack) {
			p.Path = rebased(place, p.Path)
			panel.Policies = append(panel.Policies, p)
		}
	}
	return panel
}

// rebased is a path that begins in place; the governing file's own stay as they
// are written.
func rebased(place, name string) string {
	if place == "" || path.IsAbs(name) {
		return name
	}
	return path.Join(place, name)
}
