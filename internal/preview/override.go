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

// overrides are the texts of the override files, by module directory, and
// warnings of what cannot be overridden.
func (m *Mirroring) overrides() (texts map[string]string, warnings []string) {
	blocks := map[string][]string{}
	for _, r := range m.Reading.Reads {
		read, why := m.outputs(r)
		switch {
		case why != "":
			warnings = append(warnings, fmt.Sprintf("%s: %s.%s.%s is not previewed, it reads what is there now: %s", r.Position, r.Block, r.Kind, r.Name, why))
		case read != nil:
			blocks[r.Module] = append(blocks[r.Module], block(r, read))
		}
	}
	texts = map[string]string{}
	for module, all := range blocks {
		texts[module] = fmt.Sprintf("terraform {\n  required_providers {\n    %s = { source = %s }\n  }\n}\n\n", local, quote(address(m.Tool))) +
			strings.Join(all, "\n")
	}
	return texts, warnings
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
	if r.Defaults != "" {
		text = "merge(" + r.Defaults + "\n  , " + text + ")"
	}
	return text
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
	case r.Opaque:
		return nil, "its defaults stand in JSON"
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
