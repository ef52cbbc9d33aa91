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
		value, why := m.value(r)
		switch {
		case why != "":
			warnings = append(warnings, fmt.Sprintf("%s: %s.%s.%s is not previewed, it reads what is there now: %s", r.Position, r.Block, r.Kind, r.Name, why))
		case value != "":
			blocks[r.Module] = append(blocks[r.Module], block(r, value))
		}
	}
	texts = map[string]string{}
	for module, all := range blocks {
		texts[module] = fmt.Sprintf("terraform {\n  required_providers {\n    assizepreview = {\n      source = %s\n    }\n  }\n}\n\n", quote(address(m.Tool))) +
			strings.Join(all, "\n")
	}
	return texts, warnings
}

// block overrides one data block.
func block(r scan.Read, value string) string {
	attributes := "  outputs = " + value + "\n"
	if r.Kind == "tfe_outputs" {
		attributes = "  values = " + value + "\n  nonsensitive_values = " + value + "\n"
	}
	return fmt.Sprintf("data %s %s {\n  provider = assizepreview\n%s}\n", quote(r.Kind), quote(r.Name), attributes)
}

// value is the expression of what r will read; "" leaves it as it is, and why
// says why, where it should be another.
func (m *Mirroring) value(r scan.Read) (value, why string) {
	touched := 0
	for _, state := range r.States {
		if _, ok := m.Upstreams[state]; ok {
			touched++
		}
	}
	switch {
	case len(m.Upstreams) == 0:
		return "", ""
	case r.States == nil:
		return "", "which state it reads cannot be told from the code"
	case touched == 0:
		return "", ""
	case touched < len(r.States):
		return "", "some of the stacks that it reads are not planned"
	case r.Block != "data":
		return "", "it is no data block"
	case r.Opaque:
		return "", "its defaults stand in JSON"
	}
	if r.Each {
		var items []string
		for _, key := range slices.Sorted(maps.Keys(r.States)) {
			items = append(items, quote(key)+" = "+m.Upstreams[r.States[key]].expression())
		}
		value = "{\n  " + strings.Join(items, "\n  ") + "\n  }[each.key]"
	} else {
		value = m.Upstreams[r.States[""]].expression()
	}
	if r.Defaults != "" {
		value = "merge(" + r.Defaults + "\n  , " + value + ")"
	}
	return value, ""
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
