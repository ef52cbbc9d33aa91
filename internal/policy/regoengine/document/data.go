package document

import (
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/util"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// Data merges data files as conftest does: what stands in a directory
// lies below data under that directory's name, the file's own name does not
// matter, and two files may share a key only where both hold an object. A key
// with two values is an error in conftest too: which one wins would depend on
// the order of the files.
func Data(files []policy.File) (map[string]any, error) {
	root := map[string]any{}
	for _, f := range files {
		doc, err := readData(f)
		if err != nil {
			return nil, problem.New(api.Invalid, "could not judge: data file %s: %v", f.Name, err)
		}
		if dir := path.Dir(f.Name); dir != "." {
			for _, name := range slices.Backward(strings.Split(dir, "/")) {
				doc = map[string]any{name: doc}
			}
		}
		top, ok := doc.(map[string]any)
		if !ok {
			return nil, problem.New(api.Invalid, "could not judge: data file %s holds no object", f.Name).
				WithHint("put its value under a key, or the file in a directory of that name")
		}
		if key := merge(root, top); key != "" {
			return nil, problem.New(api.Invalid, "could not judge: data file %s sets data.%s, which another file sets too", f.Name, key)
		}
	}
	return root, nil
}

// readData keeps numbers exact. A file is JSON by its name, as in conftest,
// else YAML: what is meant as JSON and is none must not be read as the YAML that
// it may happen to be.
func readData(f policy.File) (doc any, err error) {
	if path.Ext(f.Name) == ".json" {
		err = util.UnmarshalJSON(f.Data, &doc)
	} else {
		err = util.Unmarshal(f.Data, &doc)
	}
	return doc, err
}

// merge adds b to a and returns the first path at which both have a value and
// one of them is no object, or "".
func merge(a, b map[string]any) string {
	for _, key := range util.KeysSorted(b) {
		have, ok := a[key]
		if !ok {
			a[key] = b[key]
			continue
		}
		x, isObject := have.(map[string]any)
		y, both := b[key].(map[string]any)
		if !isObject || !both {
			return key
		}
		if rest := merge(x, y); rest != "" {
			return key + "." + rest
		}
	}
	return ""
}
