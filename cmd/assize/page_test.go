package main

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// page types what a page of the documentation tells its reader to type, and wants
// to see what the page shows: page FILE. Indented lines that begin with "$ " are
// commands, and what follows them is what they print, both streams in one. A line
// "..." stands for any lines, and "(exit code N)" for how it ends.
func page(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: page FILE")
	}
	typed := sessions(ts.ReadFile(args[0]))
	if len(typed) == 0 {
		ts.Fatalf("%s has no commands", args[0])
	}
	place := filepath.Join(ts.Getenv("WORK"), ".place") // where the last command went
	there := `cd "$(cat ` + place + ` 2>/dev/null || pwd)" && exec 2>&1` + "\n"
	for _, s := range typed {
		err := ts.Exec("bash", "-c", there+s.command+"\ncode=$?; pwd >"+place+"\nexit $code")
		said := clean(strings.Split(ts.ReadFile("stdout"), "\n"))
		if err != nil {
			said = append(said, "(exit code "+strings.TrimPrefix(err.Error(), "exit status ")+")")
		}
		if !shows(clean(s.shown), said) {
			ts.Fatalf("$ %s\nprints\n%s\nand %s shows\n%s", s.command, strings.Join(said, "\n"), args[0], strings.Join(s.shown, "\n"))
		}
	}
}

// A session is one command of a page, and what the page says it prints.
type session struct {
	command string
	shown   []string
}

func sessions(text string) []session {
	var typed []session
	document := false // in a here-document, which ends at END
	ended := true     // by prose: what is indented after it is no output
	for line := range strings.Lines(text) {
		line, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		if command, ok := strings.CutPrefix(line, "$ "); ok && indented {
			typed = append(typed, session{command: command})
			ended = false
			document = strings.HasSuffix(command, "<<'END'")
			continue
		}
		ended = ended || !indented && line != ""
		if ended || !indented {
			continue
		}
		last := &typed[len(typed)-1]
		if document {
			last.command += "\n" + line
			document = line != "END"
			continue
		}
		last.shown = append(last.shown, line)
	}
	return typed
}

// varying matches what is another thing each time: times, how long something took,
// and digests.
var varying = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[0-9:]+Z|\b\d+(\.\d+)?s\b|\b(run_)?[0-9a-f]{12,64}\b`)

// clean leaves out empty lines, blanks at the end, and what varies.
func clean(lines []string) []string {
	var out []string
	for _, line := range lines {
		if line = strings.TrimRight(line, " "); line != "" {
			out = append(out, varying.ReplaceAllString(line, "…"))
		}
	}
	return out
}

// shows reports whether lines are what a page shows of them.
func shows(shown, lines []string) bool {
	for i, line := range shown {
		if line == "..." {
			rest := shown[i+1:]
			for from := range len(lines) + 1 {
				if shows(rest, lines[from:]) {
					return true
				}
			}
			return false
		}
		if len(lines) == 0 || lines[0] != line {
			return false
		}
		lines = lines[1:]
	}
	return len(lines) == 0
}
