package regoengine

import (
	"crypto/sha256"
	_ "embed" // for the manifests
	"encoding/hex"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// The manifests are kept by hand: OPA's own writer leaves an empty allow_net
// out, and a reader takes an absent one for "every host".
//
// manifest is what every policy may call: 137 of OPA's 206 built-ins, those
// that are pure and cheap enough. manifestV0 adds eleven that OPA deprecated
// and that only files in Rego v0 may call; they are pure, and policies for
// plans use re_match, any and all.
//
//go:embed capabilities.json
var manifest string

//go:embed capabilities-v0.json
var manifestV0 string

// manifestDigest is what `cat capabilities.json capabilities-v0.json | sha256sum` prints.
func manifestDigest() string {
	sum := sha256.Sum256([]byte(manifest + manifestV0))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// capabilities returns what the compiler allows. The deprecated built-ins need
// no compiler of their own: in files in v1 it refuses them by itself.
func capabilities() (*ast.Capabilities, error) {
	caps, err := ast.LoadCapabilitiesJSON(strings.NewReader(manifest))
	if err != nil {
		return nil, problem.New(api.Internal, "could not judge: reading the manifest of built-ins: %w", err)
	}
	if caps.AllowNet == nil || len(caps.AllowNet) != 0 || len(caps.FutureKeywords) != 0 || !slices.Equal(caps.Features, []string{ast.FeatureRegoV1}) {
		return nil, problem.New(api.Internal, "could not judge: the manifest of built-ins allows more than it should")
	}
	deprecated, err := ast.LoadCapabilitiesJSON(strings.NewReader(manifestV0))
	if err != nil {
		return nil, problem.New(api.Internal, "could not judge: reading the manifest of deprecated built-ins: %w", err)
	}
	caps.Builtins = append(caps.Builtins, deprecated.Builtins...)
	caps.AllowNet = []string{} // whatever a later version of OPA makes of the manifest
	return caps, nil
}

// isBuiltin reports whether some evaluator knows a built-in of that name, so
// that a call of it that does not compile is one that is not allowed. The
// last three are conftest's own; they read files.
func isBuiltin(name string) bool {
	switch name {
	case "parse_config", "parse_config_file", "parse_combined_config_files":
		return true
	}
	return ast.BuiltinMap[name] != nil
}
