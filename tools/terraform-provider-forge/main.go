// Command terraform-provider-forge is a provider for tests, with one of everything
// that the schema of a provider can have: attributes that are computed, sensitive,
// write-only or force a replacement, nested blocks and objects of every mode, a data
// source, an ephemeral resource and a function. It talks to nothing: what it makes
// exists in the state only. It is never published.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// version is what tools/mirror names the directory and the file after.
const version = "0.1.0"

func main() {
	opts := providerserver.ServeOpts{Address: "registry.opentofu.org/example/forge"}
	err := providerserver.Serve(context.Background(), func() provider.Provider { return forge{} }, opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-forge:", err)
		os.Exit(1)
	}
}

// forge is the provider.
type forge struct{}

func (forge) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = "forge", version
}

func (forge) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"site":  schema.StringAttribute{Optional: true, Description: "Where things are made."},
		"token": schema.StringAttribute{Optional: true, Sensitive: true, Description: "Accepted, and never used."},
	}}
}

func (forge) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}

func (forge) Resources(context.Context) []func() resource.Resource {
	return append(bulks(), func() resource.Resource { return server{} })
}

func (forge) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{func() datasource.DataSource { return image{} }}
}

func (forge) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{func() ephemeral.EphemeralResource { return ticket{} }}
}

func (forge) Functions(context.Context) []func() function.Function {
	return []func() function.Function{func() function.Function { return shout{} }}
}
