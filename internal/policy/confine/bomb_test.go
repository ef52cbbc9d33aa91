package confine_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
)

// bombMarker is a variable that every test sets in its own environment.
const bombMarker = "ASSIZE_CONFINE_TEST"

// A bomb does what the text of its policy says.
type bomb struct{}

func (bomb) Language() api.Language        { return "bomb" }
func (bomb) Evaluator() string             { return "bomb v1" }
func (b bomb) Check(s policy.Source) error { _, err := b.Judge(s, nil); return err }

func (bomb) Judge(src policy.Source, p *plan.Plan) (api.Verdict, error) {
	what := string(src.Files[0].Data)
	if what == "obey" { // the plan instead
		if what = p.Changes[0].Name; slices.Contains([]string{"one", "two", "four", "five"}, what) {
			return api.Verdict{Notes: []string{p.Changes[0].Address}}, nil
		}
	}
	switch what {
	case "echo":
		return api.Verdict{
			Rules: []api.RuleCount{{Rule: "echo", Matched: len(p.Changes)}}, Notes: []string{fmt.Sprint(p.Flags)}, Matched: len(p.Changes),
			Findings: []api.Finding{{Rule: "echo", Level: api.Warn, Message: p.Changes[0].Address, Details: map[string]any{"n": plan.Quote(p.Changes[0].After)}}},
		}, nil
	case "panic":
		panic("the secret is CANARY-of-the-plan")
	case "panic elsewhere":
		go panic("the secret is CANARY-of-the-plan")
		select {}
	case "memory":
		var kept [][]byte
		for {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1
			}
			kept = append(kept, b)
			runtime.KeepAlive(kept)
		}
	case "one large block":
		b := make([]byte, 8<<30)
		b[len(b)/2] = 1
		return api.Verdict{Matched: int(b[0])}, nil
	case "recursion":
		return api.Verdict{Matched: deeper(1)}, nil
	case "cpu":
		for i := 0; ; i++ {
			runtime.KeepAlive(i)
		}
	case "sleep":
		time.Sleep(time.Hour)
	case "exit":
		os.Exit(0)
	case "garbage":
		return api.Verdict{}, direct("garbage that is longer than a frame's head")
	case "short":
		return api.Verdict{}, direct("\x00\x00\x00\x00\x00\x00\x00\x40{\"verdict\":{}}")
	case "no level":
		return api.Verdict{Findings: []api.Finding{{Message: "a deny without a level"}}}, nil
	case "no outcome":
		return api.Verdict{Outcome: "fine"}, nil
	case "unknown field":
		return api.Verdict{}, direct("\x00\x00\x00\x00\x00\x00\x00\x1a{\"verdict\":{\"pass\":true}}\n")
	case "giant":
		return api.Verdict{Notes: []string{strings.Repeat("x", 9<<20)}}, nil
	case "flood":
		for {
			if err := direct(strings.Repeat("x", 1<<20)); err != nil {
				return api.Verdict{}, err
			}
		}
	case "two answers":
		return api.Verdict{Notes: []string{"a.two answers"}}, twice()
	case "a second":
		for start := time.Now(); time.Since(start) < time.Second; {
		}
	case "prints":
		fmt.Println("hello")
		fmt.Fprintln(os.Stderr, "fatal error: not really")
	default:
		return api.Verdict{Notes: []string{fmt.Sprint(trespass(what))}}, nil
	}
	return api.Verdict{}, nil
}

func deeper(n int) int {
	if n < 0 {
		return 0
	}
	var frame [1024]byte
	frame[n%1024] = 1
	return deeper(n+1) + int(frame[(n+1)%1024])
}

// direct writes to the pipe of the answer past the engine's caller, and ends
// the process as if all were well.
func direct(text string) error {
	if _, err := syscall.Write(1, []byte(text)); err != nil {
		return err
	}
	if len(text) < 1<<20 {
		os.Exit(0)
	}
	return nil
}

// twice answers in advance what comes after this plan.
func twice() error {
	text := `{"number":4,"verdict":{"notes":["a lie"]}}`
	_, err := syscall.Write(1, append(binary.BigEndian.AppendUint64(nil, uint64(len(text))), text...))
	return err
}

// trespass does what no policy may, and returns how it ended.
func trespass(what string) any {
	switch what {
	case "dial":
		_, err := net.DialTimeout("tcp", "127.0.0.1:80", time.Second)
		return err
	case "socket":
		_, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		return err
	case "exec":
		cmd := exec.Command("/bin/true")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stderr, os.Stderr // or /dev/null, which is not there
		return cmd.Run()
	case "replace":
		return syscall.Exec("/proc/self/exe", []string{"x"}, nil)
	case "read":
		_, err := os.ReadFile("/etc/hostname")
		return err
	case "create":
		return os.WriteFile(os.TempDir()+"/assize-confine", nil, 0o600)
	case "list":
		_, err := os.ReadDir("/")
		return err
	case "kill":
		return syscall.Kill(os.Getppid(), 0)
	case "environment":
		return os.Environ()
	case "time zone":
		zone, err := time.LoadLocation("America/New_York")
		return fmt.Sprint(zone, err)
	case "threads":
		return threads()
	}
	return "unknown: " + what
}

// threads needs a dozen threads at once, which must be allowed.
func threads() int {
	done := make(chan bool)
	for range 12 {
		go func() {
			runtime.LockOSThread()
			time.Sleep(20 * time.Millisecond)
			done <- true
		}()
	}
	for range 12 {
		<-done
	}
	return 12
}
