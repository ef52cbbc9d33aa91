package preview

import (
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// This file is as much of version 6 of the tools' plugin protocol as a provider
// needs whose data sources hold what their configuration says: one of six calls
// has anything to do, and copies a field. It speaks gRPC by hand. The libraries for
// providers would bring a dozen modules, and log every call to standard error.

// messageMax bounds one message; a state is rarely larger than some megabytes.
const messageMax = 256 << 20

// The codes of gRPC that are used.
const (
	codeOK            = 0
	codeInvalid       = 3
	codeUnimplemented = 12
)

// answer handles one call. Every call is one message for one message.
func answer(w http.ResponseWriter, r *http.Request) {
	code := codeOK
	var response []byte
	switch r.URL.Path {
	case "/grpc.health.v1.Health/Check":
		response = protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1) // serving
	case "/tfplugin6.Provider/GetProviderSchema":
		response = providerSchema()
	case "/tfplugin6.Provider/ReadDataSource":
		request, err := receive(r.Body)
		if err == nil {
			response, err = readDataSource(request)
		}
		if err != nil {
			code = codeInvalid
		}
	case "/tfplugin6.Provider/ValidateProviderConfig", "/tfplugin6.Provider/ConfigureProvider",
		"/tfplugin6.Provider/ValidateDataResourceConfig", "/tfplugin6.Provider/StopProvider":
		// No diagnostics, and nothing to stop: others may be planning.
	default: // what a tool tries of a provider, and does without
		code = codeUnimplemented
	}
	w.Header().Set("Content-Type", "application/grpc")
	if code == codeOK {
		w.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(response)))) // who has gone needs no answer
		w.Write(response)
	}
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(code))
}

var errProtocol = errors.New("not the plugin protocol")

// receive reads one message, which is not compressed.
func receive(body io.Reader) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(body, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if head[0] != 0 || size > messageMax {
		return nil, errProtocol
	}
	message := make([]byte, size)
	_, err := io.ReadFull(body, message)
	return message, err
}

// readDataSource makes the response: the state (1) is the config (2).
func readDataSource(request []byte) ([]byte, error) {
	for len(request) > 0 {
		number, kind, n := protowire.ConsumeTag(request)
		if n < 0 {
			return nil, errProtocol
		}
		if request = request[n:]; number == 2 && kind == protowire.BytesType {
			config, n := protowire.ConsumeBytes(request)
			if n < 0 {
				return nil, errProtocol
			}
			return field(nil, 1, config), nil
		}
		if n = protowire.ConsumeFieldValue(number, kind, request); n < 0 {
			return nil, errProtocol
		}
		request = request[n:]
	}
	return nil, errProtocol
}

// An argument of a data source. Its mode is the field of the protocol that says
// so; what is both optional and computed may be set, and is null if it is not.
type argument struct {
	name, kind string // kind is a type in JSON
	modes      []protowire.Number
}

const (
	required  = 4
	optional  = 5
	computed  = 6
	sensitive = 7
)

const (
	textType    = `"string"`
	dynamicType = `"dynamic"`
)

// providerSchema is the response to GetProviderSchema: a provider without
// configuration (1), and its data sources (3). Their arguments are those of the
// data sources that they stand for, of which what is read can be set as well.
func providerSchema() []byte {
	out := field(nil, 1, schema())
	for name, s := range map[string][]byte{
		"terraform_remote_state": schema(
			argument{"backend", textType, []protowire.Number{required}},
			argument{"workspace", textType, []protowire.Number{optional}},
			argument{"config", dynamicType, []protowire.Number{optional}},
			argument{"defaults", dynamicType, []protowire.Number{optional}},
			argument{"outputs", dynamicType, []protowire.Number{optional, computed}},
		),
		"tfe_outputs": schema(
			argument{"id", textType, []protowire.Number{optional, computed}},
			argument{"workspace", textType, []protowire.Number{required}},
			argument{"organization", textType, []protowire.Number{optional, computed}},
			argument{"values", dynamicType, []protowire.Number{optional, computed, sensitive}},
			argument{"nonsensitive_values", dynamicType, []protowire.Number{optional, computed}},
		),
	} {
		out = field(out, 3, field(field(nil, 1, []byte(name)), 2, s))
	}
	return out
}

// schema is a Schema: its block (2) has attributes (2) with name (1) and type (2).
func schema(arguments ...argument) []byte {
	var block []byte
	for _, a := range arguments {
		attribute := field(field(nil, 1, []byte(a.name)), 2, []byte(a.kind))
		for _, mode := range a.modes {
			attribute = protowire.AppendVarint(protowire.AppendTag(attribute, mode, protowire.VarintType), 1)
		}
		block = field(block, 2, attribute)
	}
	return field(nil, 2, block)
}

func field(to []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), value)
}
