// Command terraform-provider-random is a stand-in for hashicorp/random, for
// places without a registry: the demonstration and the tests. It serves the
// one resource they need, random_pet, with the attributes, defaults and
// replacement rules of the original, so that configuration written for it
// plans alike with either. It is not the original, and is never published.
//
// The original's sources cannot be built here: its releases from 2.0 on have
// no module path that Go's module proxy serves.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// version is the release whose schema this follows. tools/mirror names the
// directory and the file after it.
const version = "3.0.0"

func main() {
	// Tools compare the address with nothing; it only appears in their logs.
	opts := providerserver.ServeOpts{Address: "registry.opentofu.org/hashicorp/random"}
	err := providerserver.Serve(context.Background(), func() provider.Provider { return random{} }, opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-random:", err)
		os.Exit(1)
	}
}

// random is the provider. It has no configuration, as the original has none.
type random struct{}

func (random) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "random"
	resp.Version = version
}

func (random) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}

func (random) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}

func (random) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return pet{} }}
}

func (random) DataSources(context.Context) []func() datasource.DataSource { return nil }
