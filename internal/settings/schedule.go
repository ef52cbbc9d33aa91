package settings

import (
	"strings"
	"time"
	_ "time/tzdata" // so that a zone exists or not wherever the file is read

	"github.com/robfig/cron/v3"

	"github.com/assize-iac/assize/internal/strict"
)

// schedule reads a cron expression; an empty one is never.
func (r *reader) schedule(name string) Text {
	t := r.optional(name)
	if t.Value != "" && !isSchedule(t.Value) {
		r.Fault(r.Got[name], "%s %q is no cron expression of five fields, such as 0 6 * * 1-5", name, strict.Cut(t.Value))
	}
	return t
}

// isSchedule takes the zone off first: the library knows a second spelling of
// it, and panics where nothing follows it.
func isSchedule(text string) bool {
	if rest, ok := strings.CutPrefix(text, "CRON_TZ="); ok {
		zone, fields, _ := strings.Cut(rest, " ")
		if _, err := time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" {
			return false
		}
		text = fields
	}
	if strings.Contains(text, "=") {
		return false
	}
	_, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(text)
	return err == nil
}
