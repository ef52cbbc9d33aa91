package page

import (
	"fmt"
	"strings"
)

// Annotation returns the line that makes GitHub's runner show a text, of kind
// error, warning or notice. The runner cuts properties at commas and ends them at
// the first "::", and reads a command wherever a line begins with one, so all four
// are escaped as it expects (docs/report.md, rule 4). Texts are disarmed first:
// other services read this log too.
func Annotation(kind, title, text string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return fmt.Sprintf("::%s title=%s::%s\n", kind,
		property.Replace(disarmed(Visible(title))), data.Replace(disarmed(strings.Join(Paragraphs(text), "\n"))))
}

func disarmed(text string) string { return string(Disarm([]byte(text))) }
