package preview

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/repo/scan"
)

// An addition is what a module gets in the mirror: an override file, and, unless it
// is empty, a file of JSON.
type addition struct{ override, locals string }

// overrides are what modules get, by their directory, and warnings of what cannot be
// overridden.
func (m *Mirroring) overrides() (all map[string]addition, warnings []string, err error) {
	blocks, inJSON := map[string][]string{}, map[string][]scan.Read{}
	for _, r := range m.Reading.Reads {
		read, why := m.outputs(r)
		switch {
		case why != "":
			warnings = append(warnings, fmt.Sprintf("%s: %s.%s.%s is not previewed, it reads what is there now: %s", r.Position, r.Block, r.Kind, r.Name, why))
		case read != nil:
			blocks[r.Module] = append(blocks[r.Module], block(r, read))
			if r.JSON {
				inJSON[r.Module] = append(inJSON[r.Module], r)
			}
		}
	}
	all = map[string]addition{}
	for module, texts := range blocks {
		a := addition{override: fmt.Sprintf("terraform {\n  required_providers {\n    %s = { source = %s }\n  }\n}\n\n", local, quote(address(m.Tool))) +
			strings.Join(texts, "\n")}
		if reads := inJSON[module]; len(reads) > 0 {
			if a.locals, err = locals(reads); err != nil {
				return nil, nil, failed(err)
			}
		}
		all[module] = a
	}
	return all, warnings, nil
}

// block overrides one data block, which reads those states.
func block(r scan.Read, read map[string]Outputs) string {
	attributes := "  outputs = " + value(r, read, Outputs.expression) + "\n"
	if r.Kind == "tfe_outputs" {
		attributes = "  values = " + value(r, read, Outputs.expression) + "\n  nonsensitive_values = " + value(r, read, Outputs.openExpression) + "\n"
	}
	return fmt.Sprintf("data %s %s {\n  provider = %s\n%s}\n", quote(r.Kind), quote(r.Name), local, attributes)
}

// value is what a block reads, for each of its elements.
func value(r scan.Read, read map[string]Outputs, expression func(Outputs) string) string {
	text := expression(read[""])
	if r.Each {
		var items []string
		for _, key := range slices.Sorted(maps.Keys(read)) {
			items = append(items, quote(key)+" = "+expression(read[key]))
		}
		text = "{\n  " + strings.Join(items, "\n  ") + "\n  }[each.key]"
	}
	switch {
	case r.JSON:
		text = "merge(local." + defaults(r) + ", " + text + ")"
	case r.Defaults != "":
		text = "merge(" + r.Defaults + "\n  , " + text + ")"
	}
	return text
}

// defaults is the local value that holds the defaults of a block which stands in
// JSON: nothing but another file of JSON can say the same.
func defaults(r scan.Read) string { return local + "_" + r.Kind + "_" + r.Name }

// locals is a file of JSON with the defaults of blocks that stand in JSON.
func locals(reads []scan.Read) (string, error) {
	all := map[string]json.RawMessage{}
	for _, r := range reads {
		all[defaults(r)] = json.RawMessage(r.Defaults)
	}
	text, err := json.Marshal(map[string]any{"locals": all})
	return string(text), err
}

// outputs are what r will read, by each.key; nil leaves it as it is, and why says
// why, where it should be changed.
func (m *Mirroring) outputs(r scan.Read) (read map[string]Outputs, why string) {
	if len(m.Upstreams) == 0 {
		return nil, ""
	}
	read = map[string]Outputs{}
	for key, state := range r.States {
		if outputs, planned := m.Upstreams[state]; planned {
			read[key] = outputs
		}
	}
	switch {
	case r.States == nil:
		return nil, "which state it reads cannot be told from the code"
	case len(read) == 0:
		return nil, ""
	case len(read) < len(r.States):
		return nil, "some of the stacks that it reads are not planned"
	case r.Block != "data":
		return nil, "it is no data block"
	case r.JSON && r.Each: // each element may have others
		return nil, "its defaults stand in JSON, and it has for_each"
	}
	return read, ""
}

// fetched warns of modules from elsewhere that may read states. They lie in the
// data directory, and belong to nobody's tree.
func (m *Mirroring) fetched() (warnings []string, err error) {
	if len(m.Upstreams) == 0 {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(m.DataDir, "modules", "modules.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var manifest struct {
		Modules []struct{ Key, Source, Dir string }
	}
	if err == nil {
		err = json.Unmarshal(text, &manifest)
	}
	if err != nil {
		return nil, failed(err)
	}
	for _, module := range manifest.Modules {
		dir := module.Dir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(m.Root, m.Path, dir)
		}
		if rel, err := filepath.Rel(m.DataDir, dir); err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			continue
		}
		if readsStates(dir) {
			warnings = append(warnings, fmt.Sprintf("module %s comes from elsewhere and reads states: what it reads is not previewed, but what is there now", module.Key))
		}
	}
	return warnings, nil
}

// readsStates reports whether the configuration in dir speaks of reading a state.
func readsStates(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		if !scan.Matters(e.Name()) {
			return false
		}
		text, _ := os.ReadFile(path.Join(dir, e.Name()))
		return strings.Contains(string(text), "terraform_remote_state") || strings.Contains(string(text), "tfe_outputs")
	})
}
