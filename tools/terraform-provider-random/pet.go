package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// lengthMax keeps a typo from filling a state file with one name.
const lengthMax = 100

// pet is the resource random_pet. It exists in the state only: there is no
// object elsewhere that could be read back, drift or outlive it.
type pet struct{}

type petModel struct {
	ID        types.String `tfsdk:"id"`
	Keepers   types.Map    `tfsdk:"keepers"`
	Length    types.Int64  `tfsdk:"length"`
	Prefix    types.String `tfsdk:"prefix"`
	Separator types.String `tfsdk:"separator"`
}

func (pet) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "random_pet"
}

func (pet) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	// A name is never changed in place, so every argument forces a new one.
	replaced := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	resp.Schema = schema.Schema{
		Description: "A random pet name, for names that people have to say aloud.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed:      true,
				Description:   "The name.",
				PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"keepers": schema.MapAttribute{
				ElementType:   types.StringType,
				Optional:      true,
				Description:   "Values that cause a new name when one of them changes.",
				PlanModifiers: []planmodifier.Map{mapplanmodifier.RequiresReplace()},
			},
			"length": schema.Int64Attribute{
				Optional:      true,
				Computed:      true,
				Default:       int64default.StaticInt64(2),
				Description:   "How many words the name has, without the prefix.",
				PlanModifiers: []planmodifier.Int64{int64planmodifier.RequiresReplace()},
			},
			"prefix": schema.StringAttribute{
				Optional:      true,
				Description:   "A word to put first.",
				PlanModifiers: replaced,
			},
			"separator": schema.StringAttribute{
				Optional:      true,
				Computed:      true,
				Default:       stringdefault.StaticString("-"),
				Description:   "What stands between the words.",
				PlanModifiers: replaced,
			},
		},
	}
}

func (pet) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m petModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	length := m.Length.ValueInt64()
	if length < 1 || length > lengthMax {
		resp.Diagnostics.AddError("invalid length", fmt.Sprintf("length is %d, want 1 to %d", length, lengthMax))
		return
	}
	m.ID = types.StringValue(name(m.Prefix.ValueString(), int(length), m.Separator.ValueString()))
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Read keeps what the state says: there is nothing to compare it with.
func (pet) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Update is unreachable while every argument requires replacement; it stores
// the plan, so that adding an argument that does not can never lose it.
func (pet) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m petModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (pet) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// name joins adverbs, an adjective and an animal, as many words as asked for,
// in the order people know: "merely-willing-heron".
func name(prefix string, length int, separator string) string {
	var words []string
	if prefix != "" {
		words = append(words, prefix)
	}
	for ; length > 2; length-- {
		words = append(words, pick(adverbs))
	}
	if length == 2 {
		words = append(words, pick(adjectives))
	}
	return strings.Join(append(words, pick(animals)), separator)
}

// pick chooses with crypto/rand, because names become parts of bucket and
// host names and two runs must not agree by their seed.
func pick(words string) string {
	list := strings.Fields(words)
	n, err := rand.Int(rand.Reader, big.NewInt(int64(len(list))))
	if err != nil {
		panic(err) // crypto/rand does not fail since Go 1.24
	}
	return list[n.Int64()]
}

const (
	adverbs = `barely briefly clearly daily early fairly firmly gladly gently hardly
		jointly kindly lately mainly mildly nearly openly partly plainly quietly
		rarely readily seldom simply slowly steadily surely usually warmly wholly`
	adjectives = `able brave bright calm careful cheerful clever curious eager even
		fair fine gentle glad honest keen kind lively lucky mellow modest neat
		patient plain proud quick ready sharp steady sturdy tidy upright warm wise`
	animals = `adder badger beaver bison bittern crane cricket dormouse dunlin falcon
		ferret finch gannet goshawk hare heron ibex jackdaw kestrel lapwing lark
		linnet lynx marten mole newt otter owl plover raven robin seal shrew
		stoat swift tern toad trout vole weasel wren`
)
