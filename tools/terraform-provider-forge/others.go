package main

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	ephemeralschema "github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func values(texts ...string) []attr.Value {
	var all []attr.Value
	for _, text := range texts {
		all = append(all, types.StringValue(text))
	}
	return all
}

// endpoint is where a server of this name would be reached.
func endpoint(name string) types.Object {
	return types.ObjectValueMust(map[string]attr.Type{"host": types.StringType, "port": types.Int64Type},
		map[string]attr.Value{"host": types.StringValue(name + ".example"), "port": types.Int64Value(443)})
}

// image is the data source forge_image.
type image struct{}

type imageModel struct {
	Name types.String `tfsdk:"name"`
	ID   types.String `tfsdk:"id"`
}

func (image) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "forge_image"
}

func (image) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = dataschema.Schema{Description: "An image to start a server from.", Attributes: map[string]dataschema.Attribute{
		"name": dataschema.StringAttribute{Required: true},
		"id":   dataschema.StringAttribute{Computed: true},
	}}
}

func (image) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m imageModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	m.ID = types.StringValue("img-" + m.Name.ValueString())
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// ticket is the ephemeral resource forge_ticket.
type ticket struct{}

type ticketModel struct {
	Value types.String `tfsdk:"value"`
}

func (ticket) Metadata(_ context.Context, _ ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = "forge_ticket"
}

func (ticket) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = ephemeralschema.Schema{Attributes: map[string]ephemeralschema.Attribute{
		"value": ephemeralschema.StringAttribute{Computed: true, Sensitive: true},
	}}
}

func (ticket) Open(ctx context.Context, _ ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	resp.Diagnostics.Append(resp.Result.Set(ctx, &ticketModel{Value: types.StringValue("ticket-" + random(8))})...)
}

// shout is the function shout.
type shout struct{}

func (shout) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "shout"
}

func (shout) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Description: "Says a text louder.",
		Parameters:  []function.Parameter{function.StringParameter{Name: "text"}},
		Return:      function.StringReturn{},
	}
}

func (shout) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text string
	if resp.Error = req.Arguments.Get(ctx, &text); resp.Error == nil {
		resp.Error = resp.Result.Set(ctx, strings.ToUpper(text)+"!")
	}
}
