package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Explanation is an answer with further facts about one workload.
type Explanation struct {
	Answer
	Settings *Settings
	// OnlySource is the source that the user asked about, or nil for all sources.
	OnlySource *Source
	// TemplateUser is the workload that the user asked about, if it uses the pod template of this
	// one.
	TemplateUser *workload.Key
	// OfWorkload and OfNamespace are the mistakes in the annotations of the workload and of the
	// namespace.
	OfWorkload, OfNamespace []annotations.Mistake
	// NoDefaults reports whether the annotations of the namespace are unknown.
	NoDefaults bool
	// Last is the newest event of the controller about the workload. It is nil if there is none, or
	// if the user may not read events.
	Last *LastEvent
	// Fields are notes about fields of the pod template that are no reference to a source.
	Fields []string
	Now    time.Time
}

// LastEvent is an event of the controller.
type LastEvent struct {
	Reason, Note string
	At           time.Time
	// About is the object. Its kind has no API group.
	About workload.Key
}

// Text returns the explanation for a terminal.
func (x *Explanation) Text(paint Paint) string {
	p := &pageText{paint: paint}
	p.paragraph(x.head(paint))
	if x.Workload.Policy.OptedIn(x.Settings.Rules.AutoReloadAll) && x.State == Unknown && len(x.Unknown) > 0 {
		for _, why := range x.Unknown {
			p.entry("unknown", why)
		}
	}
	x.mistakes(p)
	if x.NoDefaults {
		p.gap()
		p.paragraph(noDefaults)
	}
	x.optIn(p)
	if x.TemplateUser != nil {
		p.gap()
		p.paragraph(fmt.Sprintf("%s %s uses its pod template, so this %s is rolled instead.", x.TemplateUser.Kind, x.TemplateUser.Name, x.Workload.Key.Kind))
	}
	x.sources(p)
	x.history(p)
	x.settings(p)
	return p.b.String()
}

// head returns the answer in one sentence.
func (x *Explanation) head(paint Paint) string {
	name := x.Workload.Key.String()
	optedIn := x.Workload.Policy.OptedIn(x.Settings.Rules.AutoReloadAll)
	switch {
	case x.OnlySource != nil && !x.rolls(x.OnlySource):
		why := x.whyNot(x.OnlySource)
		return fmt.Sprintf("A change of %s does not roll %s: %s", x.OnlySource.Key, name, paint.in(yellow, why)+period(why))
	case x.OnlySource != nil && x.Settings.Rules.NotifyOnly:
		return fmt.Sprintf("A change of %s is sent to the receiver for %s (%s), which is %s.", x.OnlySource.Key, name, word(x.OnlySource), paint.state(x.State, x.standing()))
	case x.OnlySource != nil && x.notifies():
		return fmt.Sprintf("Reroll notifies of a change of %s for %s (%s), which is %s.", x.OnlySource.Key, name, word(x.OnlySource), paint.state(x.State, x.standing()))
	case x.OnlySource != nil:
		return fmt.Sprintf("A change of %s rolls %s (%s), which is %s.", x.OnlySource.Key, name, word(x.OnlySource), paint.state(x.State, x.standing()))
	case x.Workload.LeftAlone != "":
		return fmt.Sprintf("%s is %s: %s. No change of a ConfigMap or Secret runs it again.", name, paint.in(yellow, "left alone"), x.Workload.LeftAlone)
	case !optedIn:
		return fmt.Sprintf("%s is %s: no change of a ConfigMap or Secret rolls it.", name, paint.in(yellow, "not opted in"))
	case x.LeftOut != "":
		return fmt.Sprintf("%s is opted in, and %s: %s.", name, paint.in(red, "not reconciled"), x.LeftOut)
	case !x.any() && x.State != Missing:
		return fmt.Sprintf("%s is opted in, and %s.", name, paint.in(yellow, "none of its sources exists"))
	default:
		return fmt.Sprintf("%s is opted in, and %s.", name, paint.state(x.State, x.standing()))
	}
}

// period adds a period, except to a question.
func period(text string) string {
	if strings.HasSuffix(text, "?") {
		return ""
	}
	return "."
}

// standing returns the state with its explanation.
func (a *Answer) standing() string {
	switch {
	case a.State == UpToDate:
		return "up-to-date: its Pods use the current data of its sources"
	case a.State == Unknown:
		return "unknown: your permissions do not show enough"
	case a.State == Missing:
		return "missing a source: " + a.Detail
	case a.Detail == "":
		return a.State.String()
	default:
		return a.State.String() + " " + a.Detail
	}
}

// rolls reports whether a change of the source would roll the workload.
func (x *Explanation) rolls(s *Source) bool {
	return s.counts() && x.LeftOut == ""
}

func (x *Explanation) any() bool {
	for i := range x.Sources {
		if s := &x.Sources[i]; x.rolls(s) || s.Unread {
			return true
		}
	}
	return false
}

// whyNot returns the first reason why a source does not roll the workload.
func (x *Explanation) whyNot(s *Source) string {
	switch {
	case x.LeftOut != "":
		return x.LeftOut
	case whyForeignNot(s, x.Workload.Key) != "":
		return whyForeignNot(s, x.Workload.Key)
	case s.Deleted && len(s.Uses) == 0:
		return "it was deleted; Reroll watches for it"
	case s.Deleted:
		return "it was deleted; " + consequence(s) + "; Reroll watches for it"
	case s.Absent && len(s.Near) > 0:
		return "it does not exist" + didYouMean(s.Near)
	case s.Absent && s.Verdict.Concerned:
		return "it does not exist; Reroll watches for it"
	case s.Absent && len(s.Uses) == 0:
		return "it does not exist, and the workload does not reference it"
	case s.Ignored && s.Key.Kind.ClusterScoped():
		return fmt.Sprintf("the controller does not read %ss (--enable-cluster-trust-bundles is off)", s.Key.Kind)
	case s.Ignored:
		return fmt.Sprintf("the controller does not read %ss (--resources-to-ignore)", s.Key.Kind)
	case s.Verdict.Rule == policy.RuleNotOptedIn && s.Match:
		return fmt.Sprintf("%s; the match annotation of the source applies only to a workload with %s: \"true\"", s.Verdict.Rule, x.Settings.Rules.Names.Search)
	case s.Verdict.Rule == policy.RuleNotOptedIn && x.Workload.Policy.OptedIn(false):
		return fmt.Sprintf("%s for %ss", s.Verdict.Rule, s.Key.Kind)
	case s.Verdict.Entry != "" && s.Verdict.Entry != s.Key.Name:
		return fmt.Sprintf("%s (%s)", s.Verdict.Rule, s.Verdict.Entry)
	default:
		return s.Verdict.Rule.String()
	}
}

// word returns the annotation or the rule by which a source rolls the workload.
func word(s *Source) string {
	if s.Verdict.Rule.WithoutReference() && s.Verdict.Entry != s.Key.Name {
		return fmt.Sprintf("%s by %q", s.Verdict.Rule, s.Verdict.Entry)
	}
	return s.Verdict.Rule.String()
}

// optIn shows how to opt in the workload, if it is not opted in.
func (x *Explanation) optIn(p *pageText) {
	why, command := x.howToOptIn()
	if command == "" {
		return
	}
	p.gap()
	p.paragraph(why)
	p.command(command)
}

// howToOptIn returns the command that opts the workload in, and why it is not opted in; empty if it
// is.
func (x *Explanation) howToOptIn() (why, command string) {
	if x.Workload.Policy.OptedIn(x.Settings.Rules.AutoReloadAll) {
		return "", ""
	}
	optedIn, decides := x.Workload.Policy.OptedInByNamespace()
	switch {
	case decides && !optedIn && x.Settings.Rules.AutoReloadAll:
		why = fmt.Sprintf("The controller rolls all workloads (--auto-reload-all), and %s: \"false\" on namespace %s opts this one out. To opt it in again:", annotations.AutoOfNamespace, x.Workload.Key.Namespace)
	case optedIn:
		why = fmt.Sprintf("Namespace %s opts in its workloads (%s), and %s: \"false\" opts this one out. To opt it in again:", x.Workload.Key.Namespace, annotations.AutoOfNamespace, x.Settings.Rules.Names.Auto)
	case x.Settings.Rules.AutoReloadAll:
		why = fmt.Sprintf("The controller rolls all workloads (--auto-reload-all), and %s: \"false\" opts this one out. To opt it in again:", x.Settings.Rules.Names.Auto)
	default:
		why = "To opt it in for all ConfigMaps and Secrets that it references:"
	}
	return why, x.Settings.on(fmt.Sprintf("kubectl annotate --overwrite -n %s %s %s=true", x.Workload.Key.Namespace, ref(x.Workload.Key), x.Settings.Rules.Names.Auto))
}

func (x *Explanation) sources(p *pageText) {
	all := x.Sources
	if x.OnlySource != nil {
		all = []Source{*x.OnlySource}
	}
	p.gap()
	if len(all) == 0 {
		p.entry("sources", "none: it references no ConfigMap or Secret, and its annotations name none")
	}
	for i := range all {
		s := &all[i]
		title := ""
		if i == 0 {
			title = "sources"
		}
		switch {
		case s.Unread && s.Verdict.Concerned:
			p.entry(title, fmt.Sprintf("%s %s (%s), if it exists: you may not read %ss", s.Key, x.does(), word(s), s.Key.Kind))
		case x.rolls(s):
			p.entry(title, fmt.Sprintf("%s %s (%s)", s.Key, x.does(), word(s)))
		default:
			p.entry(title, fmt.Sprintf("%s does not roll it: %s", s.Key, x.whyNot(s)))
		}
		for _, line := range x.about(s) {
			for j, part := range wrap(line, Width-indent-4) {
				p.b.WriteString(strings.Repeat(" ", indent+2) + map[bool]string{true: "", false: "  "}[j == 0] + part + "\n")
			}
		}
	}
	if x.OnlySource == nil {
		for _, note := range x.Fields {
			p.entry("", oneLine(note))
		}
	}
	for _, n := range x.Unmatched {
		p.entry("", unmatched(n))
	}
}

// about returns the lines about one source.
func (x *Explanation) about(s *Source) []string {
	var lines []string
	for _, use := range s.Uses {
		line := use.String()
		if use.Key != "" {
			line += ", key " + use.Key
		}
		lines = append(lines, line)
	}
	if len(s.Uses) == 0 {
		lines = append(lines, "the pod template does not reference it")
	}
	if !x.rolls(s) || s.Written.IsZero() {
		return lines
	}
	if keys := x.keys(s); keys != "" {
		lines = append(lines, keys)
	}
	if s.Skipped {
		return append(lines, "Ignored: written "+x.Settings.ago(s.Written, x.Now)+", and no key that counts differs from the ledger")
	}
	return append(lines, x.dataOf(s))
}

// dataOf compares the data of a source with the ledger and with the Pods.
func (x *Explanation) dataOf(s *Source) string {
	content := "data from " + x.Settings.ago(s.Written, x.Now)
	switch s.Content {
	case AsInLedger:
		if s.Keys.Keys != nil {
			content += ", and no key that counts differs from the ledger" // the write may have changed others
		} else {
			content += ", same as in the ledger"
		}
	case OtherThanInLedger:
		content += ", different from the ledger"
	case NotInLedger:
		content += ", not in the ledger yet"
	case Keyed:
		content += ", cannot be compared with the ledger: " + x.Settings.keyless()
	case NotCompared:
	}
	if s.Older >= 0 && x.Pods != nil {
		switch {
		case x.Pods.Count == 0:
			content += "; there are no Pods"
		case s.Older == 0:
			content += "; all Pods are younger"
		default:
			content += "; " + older(s.Older, x.Pods.Count)
		}
	}
	return content
}

func (x *Explanation) mistakes(p *pageText) {
	title := "mistakes"
	for _, text := range x.mistaken() {
		p.entry(title, text)
		title = ""
	}
}

// mistaken returns the mistakes in the annotations of the workload, of its namespace and of its
// sources, without duplicates.
func (x *Explanation) mistaken() []string {
	var all []string
	say := func(text string) {
		if text = oneLine(text); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for _, mistake := range x.OfWorkload {
		say(mistake.String())
	}
	for _, mistake := range x.OfNamespace {
		say("Namespace " + x.Workload.Key.Namespace + ": " + mistake.String())
	}
	sources := x.Sources
	if x.OnlySource != nil {
		sources = []Source{*x.OnlySource}
	}
	for i := range sources {
		for _, mistake := range sources[i].Mistakes {
			say(sources[i].Key.String() + ": " + mistake.String())
		}
	}
	return all
}
