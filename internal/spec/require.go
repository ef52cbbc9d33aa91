package spec

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/cuecontext"

	"github.com/assize-iac/assize/internal/spec/schema"
)

// clause matches that of a file of a specification.
var clause = regexp.MustCompile(`(?m)^\x{FEFF}?\s*package\s+` + Package + `\b`)

// In reports whether a directory holds a specification: a file of the package
// estate. One that cannot be read is none.
func In(dir string) bool {
	names, _ := filepath.Glob(filepath.Join(dir, "*.cue"))
	return slices.ContainsFunc(names, func(name string) bool {
		data, err := readFile(name, textMax)
		return err == nil && clause.Match(data)
	})
}

// A Required is what a specification needs before it can be evaluated.
type Required struct {
	Config []byte // configuration that requires the providers, and nothing else
	Locked bool   // some of them have versions, which a lock file pins

	Imports map[string]string // where each provider is imported, by its source address: file:line:column
}

// requirements is the configuration with which the tool fetches the providers that the
// specification imports, and nothing else. Which versions it wants is evaluated before
// anybody knows a schema: with packages in which everything is allowed, so that of all
// the specification says only $version counts.
func (s *source) requirements() (Required, error) {
	stubs := map[string][]byte{}
	for source := range s.imports {
		stubs[packageFile(source)] = []byte(schema.Stub(packageName(source), source))
	}
	instance := s.instance(stubs, nil)
	if instance.Err != nil {
		return Required{}, s.refuse(instance.Err)
	}
	found := survey(cuecontext.New().BuildInstance(instance), Toolbox{})
	c, locked, imports := &compiler{src: s}, false, map[string]string{}
	for _, source := range slices.Sorted(maps.Keys(s.imports)) {
		if strings.Count(source, "/") != 2 {
			return Required{}, s.unknownImport(source)
		}
		if source != Functions {
			c.require(c.local(source), map[string]any{"source": source})
			imports[source] = s.position(s.imports[source])
			locked = locked || !builtin(source)
		}
	}
	for _, t := range found.providers {
		if source := t.source; !builtin(source) {
			c.require(c.local(source), required(t.value, source))
		}
	}
	config, err := c.encode()
	return Required{Config: config, Locked: locked, Imports: imports}, err
}
