package api

// BundleFormat is the version of the bundles that `assize policy build` writes.
const BundleFormat = "assize.policy.bundle/v1"

// A BundleManifest is the file .manifest of a bundle (docs/bundle.md): the
// fields that OPA knows, and what else Assize wants to find again.
type BundleManifest struct {
	Revision         string         `json:"revision"`                     // the policy's digest
	Roots            []string       `json:"roots,omitempty"`              // Rego only: the paths below data that the bundle fills
	RegoVersion      *int           `json:"rego_version,omitempty"`       // Rego only: always 1
	FileRegoVersions map[string]int `json:"file_rego_versions,omitempty"` // Rego only: 0 for each file in v0; the keys are globs
	Metadata         BundleMetadata `json:"metadata"`
}

// BundleMetadata is where OPA's format leaves room for others.
type BundleMetadata struct {
	Assize BundleFacts `json:"assize"`
}

// BundleFacts are what a bundle says of its policy and of the check that it
// passed when it was built.
type BundleFacts struct {
	Format       string         `json:"format"` // assize.policy.bundle/v1
	Language     Language       `json:"language"`
	Policy       string         `json:"policy"`                 // the policy's digest, as in a verdict
	Evaluator    string         `json:"evaluator"`              // name and version of the engine that checked it
	Capabilities string         `json:"capabilities,omitempty"` // Rego only: digest of the built-ins that policies may call
	Options      *BundleOptions `json:"options,omitempty"`      // Rego only; left out when every option is the default
	Files        []BundleFile   `json:"files"`                  // everything in the bundle but .manifest, sorted by path
}

// BundleOptions say how the Rego of a bundle is judged.
type BundleOptions struct {
	Namespaces    []string `json:"namespaces,omitempty"` // left out for main
	AllNamespaces bool     `json:"all_namespaces,omitempty"`
	InputShape    string   `json:"input_shape,omitempty"` // left out for root; else plan, tfplan or terraform
	Contract      string   `json:"contract,omitempty"`    // of a decision; left out for what the policy declares
}

// A BundleFile is one file of a bundle.
type BundleFile struct {
	Path   string `json:"path"`           // in the bundle
	Name   string `json:"name,omitempty"` // of a file of --data, as it was before; left out for every other file
	Size   int    `json:"size"`           // in bytes
	Digest string `json:"digest"`
}

// A Bundle is what `assize policy inspect --format json` prints. For a bundle
// that OPA built, which has no facts, they are made from its files: evaluator
// and format are empty.
type Bundle struct {
	Path     string   `json:"path"`
	Size     int      `json:"size"`     // of the archive, in bytes
	Digest   string   `json:"digest"`   // of the archive's bytes, as sha256sum prints it
	Revision string   `json:"revision"` // what the manifest says; for a bundle of Assize, the policy's digest
	Roots    []string `json:"roots,omitempty"`
	BundleFacts

	Contract *Contract `json:"contract,omitempty"` // of a policy that decides, as this version reads it
}
