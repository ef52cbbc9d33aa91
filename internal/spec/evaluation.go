package spec

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"cuelang.org/go/cue/token"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/confine"
	"github.com/assize-iac/assize/internal/problem"
)

// Work is the name of what a child does here; [Evaluate] is what it is.
const Work = "specify"

// Limits bound the process that evaluates. Zero means the default.
type Limits = confine.Limits

// answerMax bounds what a specification may come to, in bytes.
const answerMax = 64 << 20

// An Evaluation is one specification in a confined process. Its methods are called in
// the order in which they stand here, each once.
//
// An error of a limit names the places in the text that make much of little, if there
// are any: where a process was when it ended, nobody can tell.
type Evaluation struct {
	script  script
	process *confine.Process
	task    confine.Task
	name    string
	heavy   []string // places
}

// Begin reads a specification and starts the process.
func Begin(root Root, limits Limits) (*Evaluation, error) {
	r, err := read(root, func(string, token.Pos) {})
	if err != nil {
		return nil, err
	}
	if limits.Answer == 0 {
		limits.Answer = answerMax
	}
	e := &Evaluation{script: r.script, name: root.Name, task: confine.Task{Work: Work, Limits: limits, Words: confine.Words{
		Do: "evaluate " + root.Name, Doing: "evaluating", Subject: "it", Answer: "what it comes to",
		LessWork: "look for loops inside loops, lists that are generated, text and lists that are doubled, and alternatives that multiply",
		LessSaid: "a specification comes to one file of configuration; divide it into several stacks",
	}}}
	if e.process, err = e.task.Start(); err != nil {
		return nil, err
	}
	a, err := e.ask(request{Op: opParse, Script: &r.script}, nil)
	if err != nil {
		e.Close()
		return nil, err
	}
	e.heavy = a.Heavy
	return e, nil
}

// Texts are the digests of the files that the specification is written in, by their
// paths from its directory.
func (e *Evaluation) Texts() map[string]string {
	all := map[string]string{}
	for name, data := range e.script.Files {
		all[e.script.shown(name)] = fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	}
	return all
}

// Requirements is what the specification needs before it can be compiled.
func (e *Evaluation) Requirements() (Required, error) {
	a, err := e.ask(request{Op: opRequire}, nil)
	if err != nil {
		return Required{}, err
	}
	return *a.Required, nil
}

// Equip hands over what the tool and the providers say of themselves: a [Tools] in
// JSON. It may be called again after an error. Requirements need no tools.
func (e *Evaluation) Equip(tools []byte) error {
	_, err := e.ask(request{Op: opEquip}, tools)
	return err
}

// Compile is what the specification comes to.
func (e *Evaluation) Compile() (*Specification, error) {
	a, err := e.ask(request{Op: opCompile}, nil)
	return a.Specification, err
}

// Interrupt ends the process from any goroutine: what it is asked ends with an error.
func (e *Evaluation) Interrupt() { e.process.Kill() }

// Close ends the process.
func (e *Evaluation) Close() { e.process.Close() }

// ask asks the process. What the specification is to blame for is an [Error].
func (e *Evaluation) ask(req request, raw []byte) (answer, error) {
	body, err := e.process.Ask(req, raw)
	if err != nil {
		return answer{}, e.blame(err)
	}
	var a answer
	if err := confine.Decode(body, &a); err != nil || !a.to(req.Op) {
		e.Close()
		return answer{}, e.blame(e.task.Improper())
	}
	return a, a.Error.err()
}

// blame is the error of a process that gave no answer, as one of the specification,
// unless the system would not run it.
func (e *Evaluation) blame(err error) error {
	code := problem.Code(err)
	if code == api.Unavailable {
		return err
	}
	p := problem.New(code, "%s", err.Error())
	if code == api.Limited {
		p.Message = located(p.Message, e.heavy)
	}
	return (&Error{p}).WithHint("%s", problem.Hint(err))
}

// What a child is asked.
const (
	opParse   = "parse"   // the script
	opRequire = "require" // which providers
	opEquip   = "equip"   // with tools
	opCompile = "compile"
)

type request struct {
	Op     string
	Script *script // to parse
}

// An answer is what one request came to, or an error.
type answer struct {
	Heavy         []string       // of a script that was parsed
	Required      *Required      // to require
	Specification *Specification // to compile
	Error         *failure
}

// to reports whether an answer is one to op.
func (a answer) to(op string) bool {
	if a.Error != nil {
		return a.Error.Message != "" && slices.Contains(api.Codes(), a.Error.Code) && a.Required == nil && a.Specification == nil
	}
	return (a.Required != nil) == (op == opRequire) && (a.Specification != nil) == (op == opCompile)
}

// A failure is a problem, without its cause.
type failure struct {
	Code          api.Code
	Message, Hint string
	Specification bool // it is an [Error]
}

func fail(err error) *failure {
	if err == nil {
		return nil
	}
	_, wrong := err.(*Error)
	return &failure{Code: problem.Code(err), Message: err.Error(), Hint: problem.Hint(err), Specification: wrong}
}

func (f *failure) err() error {
	if f == nil {
		return nil
	}
	p := &problem.Error{Code: f.Code, Message: f.Message, Hint: f.Hint}
	if f.Specification {
		return &Error{p}
	}
	return p
}

// Evaluate is what a child does: it answers the requests of one [Evaluation].
func Evaluate() confine.Answerer {
	go frugal()
	var w worker
	return func(head, raw []byte) ([]byte, bool) {
		var req request
		if err := confine.Decode(head, &req); err != nil {
			return nil, false
		}
		a, sane := w.attempt(req, raw)
		data, err := json.Marshal(a)
		if err != nil {
			return nil, false
		}
		return data, sane
	}
}

// A worker is a specification in a child.
type worker struct {
	src   *source
	tools *Toolbox
}

// attempt does what was asked; sane is false when CUE panicked: nobody knows what that
// leaves behind.
func (w *worker) attempt(req request, raw []byte) (a answer, sane bool) {
	defer func() {
		if recover() != nil {
			a, sane = answer{Error: fail(invalid("evaluating %s: CUE panicked", w.name(req)).
				WithHint("the specification found a fault in CUE, and that is worth reporting; leave out half of it until it is found"))}, false
		}
	}()
	err := w.do(req, raw, &a)
	if err != nil {
		a = answer{Error: fail(err)}
	}
	return a, true
}

func (w *worker) name(req request) string {
	if req.Script != nil {
		return req.Script.Name
	}
	return w.src.Name
}

func (w *worker) do(req request, raw []byte, a *answer) (err error) {
	switch {
	case req.Op == opParse && req.Script != nil:
		if w.src, err = parse(*req.Script); err == nil {
			a.Heavy = w.src.heavies()
		}
	case req.Op == opRequire && w.src != nil:
		var required Required
		required, err = w.src.requirements()
		a.Required = &required
	case req.Op == opEquip && w.src != nil:
		var tools Tools
		if err = json.Unmarshal(raw, &tools); err == nil {
			var box Toolbox
			box, err = tools.Decode(func(typ string) bool { return w.src.words[typ] })
			w.tools = &box
		}
	case req.Op == opCompile && w.tools != nil:
		a.Specification, err = w.src.compile(*w.tools)
	default:
		err = problem.New(api.Internal, "unknown request")
	}
	return err
}
