package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Status is the state of workloads, and what prevented reading some of them.
type Status struct {
	Settings *Settings
	// Namespace is empty for all.
	Namespace string
	// Require reports whether it is an error that no workload is opted in.
	Require bool
	Answers []Answer
	// Unread are the resources that may not be listed, and Listed is how many kinds of workloads may be.
	Unread []string
	Listed int
	// Skipped explains objects that could not be decoded.
	Skipped []string
	Now     time.Time
}

// Status answers about the workloads that are opted in, or about one of them.
func (o *Objects) Status(ns, name string, pods Pods, now time.Time) (*Status, error) {
	settings := *o.settings // what is known of the controller then: its lease is read again and again
	s := &Status{Settings: &settings, Namespace: ns, Unread: o.Unread(), Listed: o.listed(), Skipped: o.Skipped(), Now: now}
	e := o.Evaluate(pods, now)
	keys := e.OptedIn()
	if name != "" {
		key, err := o.Workload(ns, name)
		if err != nil {
			return nil, err
		}
		if key, err = o.TemplateOwner(key); err != nil {
			return nil, err
		}
		keys = []workload.Key{key}
	}
	for _, key := range keys {
		s.Answers = append(s.Answers, e.Of(key))
	}
	if name == "" {
		s.Answers = append(s.Answers, e.orphans()...)
		slices.SortFunc(s.Answers, func(a, b Answer) int { return compareKeys(a.Workload.Key, b.Workload.Key) })
	}
	return s, nil
}

// orphans are answers about workloads that are opted in, use the pod template of another workload, and do not show in an answer
// about that one: it was not found, or the controller does not reconcile it.
func (e *Evaluation) orphans() []Answer {
	var all []Answer
	for _, w := range e.objects.workloads {
		if w.TemplateOwner == nil || w.Deleting || !e.objects.settings.asksFor(&w) {
			continue
		}
		if !e.objects.settings.reads(w.Key.Kind) {
			why := e.objects.settings.passesOver(e.objects, w.Key)
			all = append(all, Answer{Workload: w, State: OutOfDate, Detail: "because " + why, LeftOut: why})
			continue
		}
		if _, ok := e.state.Workload(*w.TemplateOwner); !ok {
			a := Answer{Workload: w, State: Unknown, Detail: fmt.Sprintf("%s, which has its pod template, does not exist, is not readable for you, or is not rolled", w.TemplateOwner)}
			a.doubt(a.Detail)
			all = append(all, a)
		}
	}
	return all
}

// The exit codes.
const (
	CodeUpToDate    = 0
	CodeNotUpToDate = 1
	CodeUnknown     = 2
)

// Code is the exit code: 0 if all are up to date, 1 if one is not, 2 if that is unknown.
func (s *Status) Code() int {
	code := CodeUpToDate
	if len(s.unreadWorkloads()) > 0 || len(s.Skipped) > 0 || s.Settings.Unmet || s.misses() {
		code = CodeUnknown
	}
	for i := range s.Answers {
		switch s.Answers[i].State {
		case UpToDate:
		case Unknown, NotOptedIn:
			code = CodeUnknown
		default:
			return CodeNotUpToDate
		}
	}
	return code
}

// misses reports whether a workload is required, and none is opted in.
func (s *Status) misses() bool { return s.Require && len(s.Answers) == 0 }

// Final reports whether waiting longer is pointless: everything is up to date, or no workload that could become so is opted in.
func (s *Status) Final() bool { return s.Code() == CodeUpToDate || s.misses() }

// Differs reports whether the table differs from before. A renewal of the lease of the controller is not a difference.
func (s *Status) Differs(before *Status) bool {
	return before == nil || s.Settings.alive(s.Now) != before.Settings.alive(before.Now) || s.lasting() != before.lasting()
}

// lasting is the text without what time alone changes of the controller.
func (s *Status) lasting() string {
	without, settings := *s, *s.Settings
	settings.Heard, without.Settings = time.Time{}, &settings
	return without.Text(Paint{}, Layout{Wide: true})
}

// unreadWorkloads are the kinds of which nobody knows whether there are any.
func (s *Status) unreadWorkloads() []string {
	var all []string
	for _, resource := range s.Unread {
		if !isSource(resource) && resource != "namespaces" {
			all = append(all, resource)
		}
	}
	return all
}

// mostOfName is how wide the column of the names is at most.
const mostOfName = 38

// Layout is the form of the table.
type Layout struct {
	// Wide adds columns.
	Wide bool
	// Cut shortens lines to the width of a terminal.
	Cut bool
}

// Text is the table, and what applies to all of it.
func (s *Status) Text(paint Paint, form Layout) string {
	p := &pageText{paint: paint}
	if len(s.Answers) > 0 {
		s.table(p, form)
	}
	p.paragraph(s.summary())
	told := s.Settings.Assumed != "" || s.Settings.gone(s.Now) || len(s.Settings.Beside) > 0
	if s.Settings.Webhook != nil && !told {
		p.paragraph("The controller " + rollsNothing + ".")
	}
	for _, resource := range s.Unread {
		p.paragraph("You may not list " + resource + ".")
	}
	for _, why := range s.Skipped {
		p.paragraph(why)
	}
	if told {
		s.Settings.tell(p, s.Now)
	}
	return p.b.String()
}

func (s *Status) table(p *pageText, form Layout) {
	rows := [][]string{s.titles(form.Wide)}
	for i := range s.Answers {
		rows = append(rows, s.row(&s.Answers[i], form.Wide))
	}
	widths := make([]int, len(rows[0])-1)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], columns(row[i]))
		}
	}
	if !form.Wide {
		widths[0] = min(widths[0], mostOfName)
	}
	for i, row := range rows {
		var line strings.Builder
		for j, width := range widths {
			line.WriteString(row[j] + strings.Repeat(" ", max(0, width-columns(row[j]))+2))
		}
		last := row[len(row)-1]
		if form.Cut {
			last = cut(last, max(Width-columns(line.String()), Width/4))
		}
		if i == 0 {
			p.b.WriteString(p.paint.in(bold, line.String()+last) + "\n")
			continue
		}
		p.b.WriteString(line.String() + p.paint.state(s.Answers[i-1].State, last) + "\n")
	}
}

func (s *Status) titles(wide bool) []string {
	if wide {
		return []string{"WORKLOAD", "SOURCES", "RELOADS", "PODS", "STATE"}
	}
	return []string{"WORKLOAD", "STATE"}
}

func (s *Status) row(a *Answer, wide bool) []string {
	name := ref(a.Workload.Key)
	if s.Namespace == "" {
		name = a.Workload.Key.Namespace + "/" + name
	}
	if !wide {
		return []string{name, a.short()}
	}
	sources, reloads := 0, "-"
	for i := range a.Sources {
		if a.Sources[i].Verdict.Concerned && !a.Sources[i].Absent {
			sources++
		}
	}
	if a.Ledger.There && a.Ledger.Err == nil {
		reloads = strconv.FormatInt(a.Ledger.Counter, 10)
	}
	return []string{name, strconv.Itoa(sources), reloads, fmt.Sprintf("%d/%d", a.Workload.Progress.Updated, a.Workload.Progress.Wanted), a.short()}
}

// short is the state in a few words.
func (a *Answer) short() string {
	switch {
	case a.State == UpToDate || a.Detail == "":
		return a.State.String()
	case a.State == Missing || a.State == Unknown || a.State == NotOptedIn:
		return a.State.String() + ": " + oneLine(a.Detail)
	default:
		return a.State.String() + " " + oneLine(a.Detail)
	}
}

func cut(text string, width int) string {
	letters := []rune(text)
	if len(letters) <= width {
		return text
	}
	return string(letters[:width-1]) + "…"
}

// none is for a table without workloads. Without the permission to list all kinds, that proves nothing.
func (s *Status) none() string {
	where := "namespace " + s.Namespace
	if s.Namespace == "" {
		where = "any namespace"
	}
	switch unread := s.unreadWorkloads(); {
	case len(unread) == 0:
		return "No workload of " + where + " is opted in. The annotation " + s.Settings.Names.Auto + ": \"true\" opts one in."
	case s.Listed == 0:
		return "Unknown whether a workload of " + where + " is opted in: you may list no kind of workload there."
	default:
		return "No workload that you may list in " + where + " is opted in."
	}
}

// summary counts.
func (s *Status) summary() string {
	if len(s.Answers) == 0 {
		return s.none()
	}
	count := map[State]int{}
	for i := range s.Answers {
		count[s.Answers[i].State]++
	}
	var parts []string
	for state := UpToDate; state <= NotOptedIn; state++ {
		if count[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[state], state))
		}
	}
	text := counted(int64(len(s.Answers)), "workload") + ": " + strings.Join(parts, ", ") + "."
	if count[UpToDate] < len(s.Answers) {
		text += " For details: reroll why "
		if s.Namespace == "" {
			text += "-n NAMESPACE "
		}
		text += "KIND/NAME"
	}
	return text
}
