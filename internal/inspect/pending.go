package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/gate"
)

// Pending are the workloads of a status whose reloads wait for a gate.
type Pending struct {
	*Status
	// unknown is how many workloads may wait, too.
	unknown int
}

// Pending returns the workloads whose reloads wait for a gate.
func (s *Status) Pending() *Pending {
	p := &Pending{Status: s}
	var waiting []Answer
	for i := range s.Answers {
		switch a := &s.Answers[i]; {
		case a.Gate.By == gate.Notify: // nothing will be rolled
		case !a.Gate.Open():
			waiting = append(waiting, *a)
		case a.State == Unknown:
			p.unknown++
		}
	}
	only := *s
	only.Answers = waiting
	p.Status = &only
	return p
}

// Code returns 2 if more workloads may wait than are listed, otherwise 0.
func (p *Pending) Code() int {
	if p.unknown > 0 || len(unreadWorkloads(p.Unread)) > 0 || len(p.Skipped) > 0 || p.Settings.Unmet {
		return CodeUnknown
	}
	return 0
}

// waitsSince is when the first of the changes was made that a workload waits with; zero if that is
// unknown.
func (a *Answer) waitsSince() time.Time {
	if len(a.Decision.Changes) == 0 {
		return time.Time{}
	}
	return a.Decision.Changes[0].Source.DataTime
}

// changed are the sources that have changed.
func (a *Answer) changed() []string {
	var all []string
	for i := range a.Decision.Changes {
		key := a.Decision.Changes[i].Source.Key
		if name := key.Kind.String() + " " + key.Name; !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// Text returns the table, followed by the commands that approve what waits.
func (p *Pending) Text(paint Paint) string {
	page := &pageText{paint: paint}
	p.freezes(page)
	rows := [][]string{{"WORKLOAD", "PODS", "SINCE", "STATE"}}
	for i := range p.Answers {
		a := &p.Answers[i]
		since := "-"
		if at := a.waitsSince(); !at.IsZero() {
			since = ago(at, p.Now)
		}
		rows = append(rows, []string{p.ref(a), strconv.Itoa(int(a.Workload.Progress.Wanted)), since, a.short()})
	}
	if len(p.Answers) > 0 {
		page.table(rows)
		page.paragraph(counted(int64(len(p.Answers)), "workload") + " will be rolled with the newest data when the gates open.")
		p.commands(page)
	} else {
		page.paragraph("No reload waits.")
	}
	if p.unknown > 0 {
		page.paragraph(fmt.Sprintf("Unknown for %s. For details: reroll status", counted(int64(p.unknown), "workload")))
	}
	for _, resource := range p.Unread {
		page.paragraph("You may not list " + resource + ".")
	}
	if p.NoDefaults {
		page.paragraph(noDefaults)
	}
	for _, why := range p.Skipped {
		page.paragraph(why)
	}
	if p.Settings.Assumed != "" || p.Settings.gone(p.Now) || len(p.Settings.Beside) > 0 {
		p.Settings.describe(page, p.Now)
	}
	return page.b.String()
}

// table prints rows in columns, the first as their titles.
func (p *pageText) table(rows [][]string) {
	widths := make([]int, len(rows[0])-1)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], columns(row[i]))
		}
	}
	for i, row := range rows {
		var line strings.Builder
		for j, width := range widths {
			line.WriteString(row[j] + strings.Repeat(" ", max(0, width-columns(row[j]))+2))
		}
		line.WriteString(row[len(row)-1])
		if i == 0 {
			p.b.WriteString(p.paint.in(bold, line.String()) + "\n")
			continue
		}
		p.b.WriteString(line.String() + "\n")
	}
}

// ref names a workload, with its namespace if there are several.
func (p *Pending) ref(a *Answer) string {
	if p.Namespace == "" {
		return a.Workload.Key.Namespace + "/" + ref(a.Workload.Key)
	}
	return ref(a.Workload.Key)
}

// commands prints each command that approves something, with the workloads that it rolls.
func (p *Pending) commands(page *pageText) {
	rolls := map[string][]string{}
	var all []string
	for i := range p.Answers {
		command := p.Answers[i].command()
		if command == "" {
			continue
		}
		if _, known := rolls[command]; !known {
			all = append(all, command)
		}
		rolls[command] = append(rolls[command], p.ref(&p.Answers[i]))
	}
	for _, command := range all {
		page.gap()
		page.paragraph("To approve " + listed(rolls[command], "and") + ":")
		page.b.WriteString("  " + command + "\n") // a line that can be pasted
	}
}

// pendingJSON is one workload whose reload waits.
type pendingJSON struct {
	Kind      string     `json:"kind"`
	Namespace string     `json:"namespace"`
	Name      string     `json:"name"`
	Pods      int32      `json:"pods"`
	Sources   []string   `json:"sources"`
	Why       string     `json:"why"`
	Since     *time.Time `json:"since,omitempty"`
	// Approve is the command for a user who may approve it.
	Approve string `json:"approve,omitempty"`
	gateJSON
}

// JSON returns what waits as JSON.
func (p *Pending) JSON() (string, error) {
	out := struct {
		document
		controllerJSON
		Frozen  []frozenJSON  `json:"frozen,omitempty"`
		Unread  []string      `json:"unread,omitempty"`
		Skipped []string      `json:"skipped,omitempty"`
		Unknown int           `json:"unknownWorkloads,omitempty"`
		Waiting []pendingJSON `json:"waiting"`
	}{documentOf("Pending"), p.Settings.json(p.Now), frozenAsJSON(p.Frozen), p.Unread, p.Skipped, p.unknown, []pendingJSON{}}
	for i := range p.Answers {
		a := &p.Answers[i]
		key := a.Workload.Key
		out.Waiting = append(out.Waiting, pendingJSON{
			key.Kind, key.Namespace, key.Name, a.Workload.Progress.Wanted, a.changed(), a.Gate.Why, timeOf(a.waitsSince()), a.command(), gateOf(a.Gate),
		})
	}
	return encode(out)
}
