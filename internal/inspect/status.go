package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Status is the state of workloads, with the reasons why some of them could not be read.
type Status struct {
	Settings *Settings
	// Namespace is empty for all namespaces.
	Namespace string
	// Require reports whether it is an error if no workload is opted in.
	Require bool
	// RequireController reports whether it is an error that the controller does not run.
	RequireController bool
	Answers           []Answer
	// Unread are the resources that may not be listed. Listed is the number of kinds of workloads
	// that may be listed.
	Unread []string
	Listed int
	// NoDefaults reports whether the annotations of namespaces are unknown.
	NoDefaults bool
	// Skipped explains the objects that could not be decoded.
	Skipped []string
	// Mistaken are the workloads that are not opted in and whose annotations have mistakes, which
	// may be the reason.
	Mistaken []Mistaken
	// Frozen is where users froze reloads.
	Frozen []Frozen
	Now    time.Time
}

// Status returns the state of all workloads that are opted in, or of one of them.
func (o *Objects) Status(ns, name string, pods Pods, now time.Time) (*Status, error) {
	// A copy, because the Lease of the controller is read again and again, and each status keeps
	// what was known at its time.
	settings := *o.settings
	s := &Status{Settings: &settings, Namespace: ns, Unread: o.Unread(), Listed: o.listed(), NoDefaults: o.noDefaults, Skipped: o.Skipped(), Now: now}
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
	if !settings.Rules.NotifyOnly {
		s.Frozen = o.frozen(ns, now)
	}
	s.Mistaken = o.mistaken(name != "", keys)
	if name == "" {
		s.Answers = append(s.Answers, e.orphans()...)
		slices.SortFunc(s.Answers, func(a, b Answer) int { return workload.CompareKeys(a.Workload.Key, b.Workload.Key) })
	}
	return s, nil
}

// orphans returns the answers about workloads that are opted in, use the pod template of another
// workload, and do not show in an answer about that one: that workload was not found, or the
// controller does not reconcile it.
func (e *Evaluation) orphans() []Answer {
	var all []Answer
	for _, w := range e.objects.all("") {
		if a, is := e.orphan(w); is {
			all = append(all, a)
		}
	}
	return all
}

func (e *Evaluation) orphan(w workload.Workload) (a Answer, is bool) {
	w.Policy = e.objects.policyOf(w.Key)
	if w.TemplateOwner == nil || w.Deleting || !e.objects.settings.asksFor(&w) {
		return a, false
	}
	if !e.objects.settings.reads(w.Key.Kind) {
		why := e.objects.settings.passesOver(e.objects, w.Key)
		return Answer{Workload: w, State: OutOfDate, Detail: "because " + why, LeftOut: why}, true
	}
	if _, ok := e.state.Workload(*w.TemplateOwner); ok {
		return a, false
	}
	a = Answer{Workload: w, State: Unknown, Detail: fmt.Sprintf("%s, which has its pod template, does not exist, is not readable for you, or is not rolled", w.TemplateOwner)}
	a.doubt(a.Detail)
	return a, true
}

// The exit codes.
const (
	CodeUpToDate    = 0
	CodeNotUpToDate = 1
	CodeUnknown     = 2
)

// Code returns the exit code: 0 if all workloads are up to date, 1 if one is not, 2 if that is
// unknown.
func (s *Status) Code() int {
	code := CodeUpToDate
	if len(unreadWorkloads(s.Unread)) > 0 || len(s.Skipped) > 0 || s.Settings.Unmet || s.misses() || s.lacksController() {
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

// lacksController reports whether a controller is required, and none is known to run.
func (s *Status) lacksController() bool { return s.RequireController && !s.Settings.alive(s.Now) }

// Awaits returns the reasons why the state is not final, or empty if there is none.
func (s *Status) Awaits() string {
	var parts []string
	if s.lacksController() {
		parts = append(parts, "the controller to run ("+s.Settings.lack(s.Now)+")")
	}
	if s.Settings.Unmet && !s.lacksController() {
		parts = append(parts, "the settings of the controller ("+s.Settings.Assumed+")")
	}
	behind := 0
	for i := range s.Answers {
		if s.Answers[i].State != UpToDate {
			behind++
		}
	}
	if behind > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s to be up to date", behind, counted(int64(len(s.Answers)), "workload")))
	}
	if unread := unreadWorkloads(s.Unread); len(unread) > 0 {
		parts = append(parts, "the permission to list "+strings.Join(unread, ", "))
	}
	if len(s.Skipped) > 0 {
		parts = append(parts, counted(int64(len(s.Skipped)), "object")+" to be readable")
	}
	return listed(parts, "and")
}

// Final reports whether waiting longer is pointless: everything is up to date, or no workload is
// opted in.
func (s *Status) Final() bool { return s.Code() == CodeUpToDate || s.misses() }

// Differs reports whether the table differs from the previous one. A renewal of the Lease of the
// controller is not a difference.
func (s *Status) Differs(before *Status) bool {
	return before == nil || s.Settings.alive(s.Now) != before.Settings.alive(before.Now) || s.lasting() != before.lasting()
}

// lasting returns the text, without the parts about the controller that change only with time.
func (s *Status) lasting() string {
	without, settings := *s, *s.Settings
	settings.Heard, without.Settings = time.Time{}, &settings
	return without.Text(Paint{}, Layout{Wide: true})
}

// unreadWorkloads returns the kinds of workloads among the resources that may not be listed.
func unreadWorkloads(resources []string) []string {
	var all []string
	for _, resource := range resources {
		if !isSource(resource) && resource != "namespaces" {
			all = append(all, resource)
		}
	}
	return all
}

// mostOfName is the largest width of the column with names.
const mostOfName = 38

// Layout is the form of the table.
type Layout struct {
	// Wide adds columns.
	Wide bool
	// Cut shortens lines to the width of a terminal.
	Cut bool
}

// Text returns the table, followed by the remarks about the whole table.
func (s *Status) Text(paint Paint, form Layout) string {
	p := &pageText{paint: paint}
	s.freezes(p)
	if len(s.Answers) > 0 {
		s.table(p, form)
	}
	p.paragraph(s.summary())
	s.mistakes(p)
	describes := s.Settings.Assumed != "" || s.Settings.gone(s.Now) || s.lacksController() || len(s.Settings.Beside) > 0
	if s.Settings.Rules.NotifyOnly && !describes {
		p.paragraph("The controller " + rollsNothing + ".")
	}
	for _, resource := range s.Unread {
		p.paragraph("You may not list " + resource + ".")
	}
	if s.NoDefaults {
		p.paragraph(noDefaults)
	}
	for _, why := range s.Skipped {
		p.paragraph(why)
	}
	if describes {
		s.Settings.describe(p, s.Now)
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

// short returns the state in a few words.
func (a *Answer) short() string {
	switch {
	case a.State == UpToDate || a.Detail == "":
		return a.State.String()
	case a.Gate.Stopped || a.State == Missing || a.State == Unknown || a.State == NotOptedIn:
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

// none returns the text for a table without workloads. If the user may not list all kinds, an empty
// table proves nothing.
func (s *Status) none() string {
	where := "namespace " + s.Namespace
	if s.Namespace == "" {
		where = "any namespace"
	}
	switch unread := unreadWorkloads(s.Unread); {
	case len(unread) == 0:
		return "No workload of " + where + " is opted in. The annotation " + s.Settings.Rules.Names.Auto + ": \"true\" opts one in."
	case s.Listed == 0:
		return "Unknown whether a workload of " + where + " is opted in: you may list no kind of workload there."
	default:
		return "No workload that you may list in " + where + " is opted in."
	}
}

// summary counts the workloads in each state.
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
