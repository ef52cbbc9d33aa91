package runner

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/spec"
	"github.com/assize-iac/assize/internal/tofu"
)

// lineMax is how much of a line is looked at, in bytes.
const lineMax = 4 << 10

// Places are where things are in the specification, by the tool's addresses. It is
// empty for what is no specification.
func (s *Stack) Places() map[string]spec.Place { return s.places }

// heed lets the tool complain through a reader of what it says. The function that is
// returned takes the error that the tool ended with, and returns it. If there is one,
// it says where in the specification the things are that the tool complained about:
// the tool knows the configuration that was made of it alone (docs/spec.md, rule 33).
func (s *Stack) heed(session *tofu.Session) (note func(error) error) {
	if !s.Specified() {
		return func(err error) error { return err }
	}
	return (&heeded{places: s.places}).over(session)
}

// over lets h hear what the tool says in a session.
func (h *heeded) over(session *tofu.Session) (note func(error) error) {
	h.to = session.Err
	if session.Out == session.Err { // two writers would change the order
		session.Out = h
	}
	session.Err = h
	return func(err error) error {
		if err != nil {
			h.write()
		}
		return err
	}
}

// A heeded passes on all that is written to it, at once, and remembers of which
// things of a specification it spoke.
type heeded struct {
	to     io.Writer
	places map[string]spec.Place
	// imports are where providers are imported, by their source addresses. The tool
	// calls one as it stands there, or without its registry.
	imports map[string]string
	line    []byte // what came of the line that has not ended
	wrong   bool   // it stands in what the tool says of an error
	seen    []string
	lost    bool // it did not find a file
}

func (h *heeded) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		end := slices.Index(rest, '\n')
		piece := rest
		if end >= 0 {
			piece = rest[:end]
		}
		h.line = append(h.line, piece[:min(len(piece), lineMax-len(h.line))]...)
		if end < 0 {
			break
		}
		h.read(h.line)
		h.line, rest = h.line[:0], rest[end+1:]
	}
	return h.to.Write(p)
}

// paint is what colours text on a terminal.
var paint = regexp.MustCompile("\x1b\\[[0-9;]*m")

// heading is how the tool begins what it has to say, at the edge or in a frame.
var heading = regexp.MustCompile(`^[│ ]*(Error|Warning): `)

// dotted is what may be an address, with more behind it or not.
var dotted = regexp.MustCompile(`[\pL\d_-]+(?:\.[\pL\d_-]+)+`)

// lost is how the tool, or a provider, says that a file is not there.
var lost = regexp.MustCompile(`[Nn]o file exists|[Nn]o such file or directory`)

// read remembers the things that a line of an error speaks of, each once. The tool
// says it in several ways:
//
//	with random_pet.web--front,
//	on main.tf.json line 12, in resource.random_pet.web--front:
//	Resource instance random_pet.web--front has prevent_destroy set, but
func (h *heeded) read(line []byte) {
	text := paint.ReplaceAllString(string(line), "")
	if m := heading.FindStringSubmatch(text); m != nil {
		h.wrong = m[1] == "Error"
	}
	if !h.wrong {
		return
	}
	h.lost = h.lost || lost.MatchString(text)
	for source := range h.imports {
		_, short, _ := strings.Cut(source, "/")
		if named(text, short) && !slices.Contains(h.seen, source) {
			h.seen = append(h.seen, source)
		}
	}
	for _, word := range dotted.FindAllString(text, -1) {
		address := h.known(strings.TrimPrefix(word, "resource."))
		if address != "" && !slices.Contains(h.seen, address) {
			h.seen = append(h.seen, address)
		}
	}
}

// known is the address that a word is, or begins with, "" for none.
func (h *heeded) known(word string) string {
	for {
		if _, ok := h.places[word]; ok {
			return word
		}
		dot := strings.LastIndexByte(word, '.')
		if dot < 0 {
			return ""
		}
		word = word[:dot]
	}
}

// named reports whether a text names something, and not something longer.
func named(text, name string) bool {
	return regexp.MustCompile(regexp.QuoteMeta(name) + `([^\pL\d_-]|$)`).MatchString(text)
}

// write says where the things are, and where a path begins.
func (h *heeded) write() {
	h.read(h.line)
	slices.SortStableFunc(h.seen, func(a, b string) int { return strings.Compare(h.imports[a], h.imports[b]) })
	for _, address := range h.seen {
		if at := h.imports[address]; at != "" {
			fmt.Fprintf(h.to, "assize: note: %s is imported in %s\n", address, at)
			continue
		}
		place := h.places[address]
		at := ""
		if place.File != "" {
			at = fmt.Sprintf(", %s:%d", place.File, place.Line)
		}
		fmt.Fprintf(h.to, "assize: note: %s is %s%s\n", address, place.Path, at)
	}
	if h.lost {
		fmt.Fprintf(h.to, "assize: note: a relative path begins where the tool works, in %s; what is beside the specification is \"%s\", with import tofu %q\n",
			dirName+"/"+specName, `\(tofu.#root)/NAME`, spec.Functions)
	}
}
