package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// bulkVariable says how many types forge_bulk_N there are, for measurements with a
// provider as large as those of clouds are: none unless it is set.
const bulkVariable = "FORGE_BULK"

// bulk is one of many types that only have a schema: some 30 attributes, most of them
// optional, and three blocks.
type bulk struct{ number int }

func bulks() (all []func() resource.Resource) {
	n, err := strconv.Atoi(os.Getenv(bulkVariable))
	if err != nil {
		return nil
	}
	for i := range n {
		all = append(all, func() resource.Resource { return bulk{i} })
	}
	return all
}

func (b bulk) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = fmt.Sprintf("forge_bulk_%d", b.number)
}

func (bulk) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := map[string]schema.Attribute{
		"id":    schema.StringAttribute{Computed: true},
		"name":  schema.StringAttribute{Required: true},
		"zones": schema.ListAttribute{Computed: true, ElementType: types.StringType},
		"tags":  schema.MapAttribute{Optional: true, ElementType: types.StringType},
		"size":  schema.NumberAttribute{Optional: true, Computed: true},
		"key":   schema.StringAttribute{Computed: true, Sensitive: true},
	}
	for i := range 24 {
		attributes[fmt.Sprintf("setting_%d", i)] = schema.StringAttribute{Optional: true, Description: fmt.Sprintf("Says what %d is.", i)}
	}
	inner := schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
		"port":    schema.NumberAttribute{Optional: true},
		"address": schema.StringAttribute{Optional: true, Computed: true},
	}}
	resp.Schema = schema.Schema{Attributes: attributes, Blocks: map[string]schema.Block{
		"network": schema.SingleNestedBlock{Attributes: inner.Attributes},
		"rule":    schema.ListNestedBlock{NestedObject: inner},
		"filter":  schema.SetNestedBlock{NestedObject: inner},
	}}
}

func (bulk) Create(_ context.Context, _ resource.CreateRequest, resp *resource.CreateResponse) {
	resp.Diagnostics.AddError("A bulk resource is never made", "It is there to be checked.")
}

func (bulk) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (bulk) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {}

func (bulk) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
