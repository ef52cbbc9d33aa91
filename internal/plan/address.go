package plan

// RedactAddress is address as it may be shown (see [secret.Set.Address]). A text
// that is no address of the plan has been made up by a policy, and is like any other.
func (p *Plan) RedactAddress(address string) string {
	if !p.addresses[address] {
		return p.Redact(address)
	}
	return p.secrets.Address(address)
}

// ShownReplacePaths are the paths that force a replacement, as they may be
// shown. One that leads into what is sensitive as a whole ends there, for the
// keys of a secret are part of it; those of the resource itself are its schema.
func (p *Plan) ShownReplacePaths(c *Change) []string {
	var out []string
	for _, text := range c.ReplacePaths {
		out = append(out, p.Redact(upToSecret(text, c)))
	}
	return out
}

func upToSecret(text string, c *Change) string {
	path, err := ParsePath(text)
	if err != nil {
		return text // an empty one: the resource as a whole
	}
	before, after := c.BeforeSensitive, c.AfterSensitive
	for i, step := range path {
		if i > 0 && (before == true || after == true) {
			return path[:i].String()
		}
		before, after = below(before, step), below(after, step)
	}
	return text
}

// Redact replaces every secret of the plan in text by (sensitive), also where
// it is escaped as in JSON or Go (see [secret.Set.Redact]).
func (p *Plan) Redact(text string) string { return p.secrets.Redact(text) }

// HasSecret reports whether a secret of the plan is anywhere in v, keys
// included.
func (p *Plan) HasSecret(v any) bool { return p.secrets.In(v) }

// named collects every address that the plan has itself.
func (p *Plan) named() map[string]bool {
	known := map[string]bool{}
	for _, changes := range [][]Change{p.Changes, p.Deferred} {
		for i := range changes {
			c := &changes[i]
			known[c.Address], known[c.PreviousAddress], known[c.Module] = true, true, true
		}
	}
	for _, c := range p.Checks {
		known[c.Address] = true
	}
	for _, m := range p.Modules {
		known[m.Address] = true
	}
	return known
}
