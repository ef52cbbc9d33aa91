package settings

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/stack"
	"github.com/assize-iac/assize/internal/strict"
)

// An Instance is one deployment of a directory.
type Instance struct {
	Name    string // "" for the only one of a directory without instances
	VarFile string // that from_var_files has matched for it, relative to the directory; "" for none
}

// Instances returns the instances of the directory dir, sorted unless the
// directory's file lists them, which keeps its order (seed 004, "Configuration";
// docs/configuration.md, rule 10). matched are the files that from_var_files
// matches there, relative to the directory; without from_var_files they mean
// nothing. Warnings name matched files that are not used.
func Instances(root *Root, dir string, d *Directory, matched []string) (all []Instance, warnings []string, err error) {
	if root.Stacks.FromVarFiles.Value == "" {
		matched = nil
	}
	matched = slices.Sorted(slices.Values(matched))
	switch {
	case len(d.Instances) > 0:
		all, warnings, err = listed(root, dir, d, matched)
	case len(matched) > 0:
		all, err = derived(root, dir, matched)
	default:
		all, err = single(dir, d)
	}
	if err != nil {
		return nil, nil, err
	}
	return all, warnings, nil
}

// listed are the names that the directory's file gives, each with the matched
// file that is called like it.
func listed(root *Root, dir string, d *Directory, matched []string) ([]Instance, []string, error) {
	var c strict.Complaints
	var warnings []string
	all := make([]Instance, len(d.Instances))
	for i, o := range d.Instances {
		all[i].Name = o.Name.Value
	}
	for _, file := range matched {
		name := nameOf(file)
		i := slices.IndexFunc(all, func(in Instance) bool { return in.Name == name })
		switch {
		case i < 0:
			warnings = append(warnings, fmt.Sprintf("%s is not used: the instances of %s do not name %q", path.Join(dir, file), dir, name))
		case all[i].VarFile != "":
			root.misnamed(&c, dir, file, fmt.Sprintf("%s is a file of the instance %q, too", path.Join(dir, all[i].VarFile), name))
		default:
			all[i].VarFile = file
		}
	}
	return all, warnings, c.Err(hintVarFile)
}

// derived are one instance for each matched file.
func derived(root *Root, dir string, matched []string) ([]Instance, error) {
	var c strict.Complaints
	var all []Instance
	for _, file := range matched {
		name := nameOf(file)
		i := slices.IndexFunc(all, func(in Instance) bool { return in.Name == name })
		if wrong := WrongInstance(name); wrong != "" {
			root.misnamed(&c, dir, file, wrong)
		} else if i >= 0 {
			root.misnamed(&c, dir, file, fmt.Sprintf("%s is a file of the instance %q, too", path.Join(dir, all[i].VarFile), name))
		} else {
			all = append(all, Instance{Name: name, VarFile: file})
		}
	}
	slices.SortFunc(all, func(a, b Instance) int { return cmp.Compare(a.Name, b.Name) })
	return all, c.Err(hintVarFile)
}

const hintVarFile = "rename the file, or list the directory's instances in its .assize.yaml"

// misnamed complains about a matched file at the glob that matches it.
func (r *Root) misnamed(c *strict.Complaints, dir, file, why string) {
	at := r.Stacks.FromVarFiles.At
	c.Add(at.File, at.Line, at.Column, "stacks.instances.from_var_files: %s: %s", path.Join(dir, file), why)
}

// nameOf is the instance that a var file is called after.
func nameOf(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".")
	return name
}

// single is the only instance of a directory: that of its workspace, or one
// without a name.
func single(dir string, d *Directory) ([]Instance, error) {
	var c strict.Complaints
	r := resolver{c: &c, key: stack.Key{Path: dir}}
	name := r.workspace(d.Workspace)
	if wrong := WrongInstance(name); name != "" && wrong != "" {
		r.fault(d.Workspace, "workspace", wrong)
	}
	return []Instance{{Name: name}}, c.Err(hint)
}

// Pick returns the instance that a key names (seed 004, "CLI";
// docs/configuration.md, rule 11). In a directory without instances any valid
// name picks its only stack, in the workspace of that name: then adHoc.
func Pick(all []Instance, d *Directory, key stack.Key) (in Instance, adHoc bool, err error) {
	var names []string
	for _, in := range all {
		if in.Name == key.Instance {
			return in, false, nil
		}
		if in.Name != "" {
			names = append(names, stack.Key{Path: key.Path, Instance: in.Name}.String())
		}
	}
	// A workspace alone makes one instance, and its directory names that as well.
	if key.Instance == "" && len(d.Instances) == 0 && len(all) == 1 && all[0].VarFile == "" {
		return all[0], false, nil
	}
	if len(names) > 0 {
		what := "has instances, and none is named"
		if key.Instance != "" {
			what = fmt.Sprintf("has no instance %q", strict.Cut(key.Instance))
		}
		return in, false, problem.New(api.NotFound, "%s %s", key.Path, what).WithHint("name one of %s", strings.Join(names, ", "))
	}
	if wrong := WrongInstance(key.Instance); wrong != "" {
		return in, false, problem.New(api.Invalid, "%s: %s", strict.Cut(key.String()), strict.Cut(wrong))
	}
	return Instance{Name: key.Instance}, true, nil
}
