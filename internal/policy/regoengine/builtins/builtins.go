// Package builtins holds the manifests of what Rego policies may call. They are
// part of what a verdict depends on; nothing else decides what a policy reaches.
package builtins

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

// Name and Digest are those of the manifest: a verdict by the decision contract
// is bound to both (docs/decision.md, rule 8). The digest is what `sha256sum
// capabilities.json` prints; to change the manifest is to make a version 2 of it.
const (
	Name   = "assize-rego-capabilities-v1"
	Digest = "sha256:422ea05fbcf1211a36bbbc80069a366eb4af583e908a3b29afac644d409a2d51"
)

// Manifests is the digest of both: what `cat capabilities.json capabilities-v0.json | sha256sum` prints.
func Manifests() string {
	return digestOf(manifest + manifestV0)
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Convention returns what the compiler allows to conftest's convention. The
// deprecated built-ins need no compiler of their own: in files in v1 it refuses
// them by itself.
func Convention() (*ast.Capabilities, error) {
	caps, err := Decision()
	if err != nil {
		return nil, err
	}
	deprecated, err := ast.LoadCapabilitiesJSON(strings.NewReader(manifestV0))
	if err != nil {
		return nil, problem.New(api.Internal, "could not judge: reading the manifest of deprecated built-ins: %w", err)
	}
	caps.Builtins = append(caps.Builtins, deprecated.Builtins...)
	return caps, nil
}

// Decision returns what the compiler allows to a decision: the manifest
// that the digest names, and nothing else.
func Decision() (*ast.Capabilities, error) {
	if digestOf(manifest) != Digest {
		return nil, problem.New(api.Internal, "could not judge: the manifest of built-ins is not %s", Name)
	}
	caps, err := ast.LoadCapabilitiesJSON(strings.NewReader(manifest))
	if err != nil {
		return nil, problem.New(api.Internal, "could not judge: reading the manifest of built-ins: %w", err)
	}
	if caps.AllowNet == nil || len(caps.AllowNet) != 0 || len(caps.FutureKeywords) != 0 || !slices.Equal(caps.Features, []string{ast.FeatureRegoV1}) {
		return nil, problem.New(api.Internal, "could not judge: the manifest of built-ins allows more than it should")
	}
	caps.AllowNet = []string{} // whatever a later version of OPA makes of the manifest
	return caps, nil
}

// Known reports whether some evaluator knows a built-in of that name, so
// that a call of it that does not compile is one that is not allowed. The
// last three are conftest's own; they read files.
func Known(name string) bool {
	switch name {
	case "parse_config", "parse_config_file", "parse_combined_config_files":
		return true
	}
	return ast.BuiltinMap[name] != nil
}

// Allowed reports whether the manifest has a built-in of that name.
func Allowed(name string) bool { return strings.Contains(manifest, `"name": "`+name+`"`) }
