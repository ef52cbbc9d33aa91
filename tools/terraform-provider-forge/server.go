package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// server is the resource forge_server.
type server struct{}

type serverModel struct {
	ID        types.String             `tfsdk:"id"`
	Name      types.String             `tfsdk:"name"`
	Region    types.String             `tfsdk:"region"`
	Size      types.Int64              `tfsdk:"size"`
	Tags      map[string]types.String  `tfsdk:"tags"`
	Zones     types.List               `tfsdk:"zones"`
	Secret    types.String             `tfsdk:"secret"`
	Password  types.String             `tfsdk:"password"`
	Old       types.String             `tfsdk:"old_name"`
	Endpoint  types.Object             `tfsdk:"endpoint"`
	Listeners []listenerModel          `tfsdk:"listeners"`
	Routes    map[string]listenerModel `tfsdk:"routes"`
	Limits    *limitsModel             `tfsdk:"limits"`
	Disks     []diskModel              `tfsdk:"disk"`
	Rules     []ruleModel              `tfsdk:"rule"`
}

type listenerModel struct {
	Port types.Int64 `tfsdk:"port"`
}

type limitsModel struct {
	CPU types.Int64 `tfsdk:"cpu"`
}

type diskModel struct {
	Size   types.Int64  `tfsdk:"size"`
	Volume types.String `tfsdk:"volume"`
}

type ruleModel struct {
	CIDR types.String `tfsdk:"cidr"`
	Port types.Int64  `tfsdk:"port"`
}

func (server) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "forge_server"
}

func (server) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	kept := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	port := map[string]schema.Attribute{"port": schema.Int64Attribute{Required: true}}
	resp.Schema = schema.Schema{
		Description: "A server that nobody can log in to.",
		Attributes: map[string]schema.Attribute{
			"id":        schema.StringAttribute{Computed: true, PlanModifiers: kept, Description: "What it is called by the forge."},
			"name":      schema.StringAttribute{Required: true},
			"region":    schema.StringAttribute{Optional: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
			"size":      schema.Int64Attribute{Optional: true},
			"tags":      schema.MapAttribute{ElementType: types.StringType, Optional: true},
			"zones":     schema.ListAttribute{ElementType: types.StringType, Computed: true},
			"secret":    schema.StringAttribute{Computed: true, Sensitive: true, PlanModifiers: kept},
			"password":  schema.StringAttribute{Optional: true, WriteOnly: true},
			"old_name":  schema.StringAttribute{Optional: true, DeprecationMessage: "Use name."},
			"endpoint":  schema.SingleNestedAttribute{Computed: true, Attributes: map[string]schema.Attribute{"host": schema.StringAttribute{Computed: true}, "port": schema.Int64Attribute{Computed: true}}},
			"listeners": schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: port}},
			"routes":    schema.MapNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: port}},
		},
		Blocks: map[string]schema.Block{
			"limits": schema.SingleNestedBlock{Attributes: map[string]schema.Attribute{"cpu": schema.Int64Attribute{Optional: true}}},
			"disk": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
				"size": schema.Int64Attribute{Required: true}, "volume": schema.StringAttribute{Computed: true}}}},
			"rule": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
				"cidr": schema.StringAttribute{Required: true}, "port": schema.Int64Attribute{Optional: true}}}},
		},
	}
}

func (s server) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m serverModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	m.ID, m.Secret = types.StringValue(m.Name.ValueString()+"-"+random(4)), types.StringValue(random(16))
	m.decide()
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// decide fills in what follows from the rest.
func (m *serverModel) decide() {
	m.Password = types.StringNull()
	m.Zones = types.ListValueMust(types.StringType, values("a", "b"))
	m.Endpoint = endpoint(m.Name.ValueString())
	for i := range m.Disks {
		m.Disks[i].Volume = types.StringValue("vol-" + random(4))
	}
}

// Read keeps what the state says: there is nothing to compare it with.
func (server) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (server) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m serverModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	m.decide()
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (server) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

func (server) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), req, resp)
}

// random is n random bytes in hexadecimal.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
