package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Plan describes the effect of a change of one source.
type Plan struct {
	Settings *Settings
	Source   source.Key
	// Absent reports whether the source does not exist.
	Absent bool
	// allows reports whether workloads of other namespaces may name it.
	allows bool
	// grants reports whether ReferenceGrants count for it.
	grants bool
	// Rolled are the workloads that a change would roll, or notify a receiver of. Left are the
	// workloads that use or name the source and that a change would not roll.
	Rolled, Left []Planned
	// Unread are the resources that may not be read and could change the plan, with the possible
	// difference.
	Unread []string
	// Listed is the number of kinds of workloads that may be listed, and unlisted of those that may
	// not.
	Listed, unlisted int
	// Waves are how the workloads are rolled one after the other; nil if they are rolled at once.
	Waves *gate.Settings
	Now   time.Time
	// Elsewhere is the plan for the workloads of other namespaces; nil if it was not made.
	Elsewhere *Plan
	// namespace is that of the workloads.
	namespace string
}

// Planned is one workload in a plan.
type Planned struct {
	Key workload.Key
	// Why is the rule by which the workload is rolled, or the reason why it is not.
	Why string
	// Keys describe which keys of the source count; empty if all do, as by default.
	Keys string
	keys policy.KeyVerdict
	Wave int
	Pods int64
	// Gate is whether a reload may start now.
	Gate gate.Answer
}

// Plan returns the plan for one source, by the text of a user.
func (o *Objects) Plan(ns, source string, pods Pods, now time.Time) (*Plan, error) {
	key, err := o.Source(ns, source)
	if err != nil {
		return nil, err
	}
	return o.plan(ns, key, pods, now), nil
}

func (o *Objects) plan(ns string, key source.Key, pods Pods, now time.Time) *Plan {
	p := &Plan{Settings: o.settings, Source: key, Unread: o.unreadOfPlan(key), Listed: o.listed(), unlisted: len(unreadWorkloads(o.Unread())), Now: now, namespace: ns}
	src, there := o.source(key)
	e := o.Evaluate(pods, now)
	p.allows = src.Annotations.AllowFrom.Any()
	p.grants = o.settings.Rules.ReferenceGrants && (key.Kind == source.ConfigMap || key.Kind == source.Secret)
	p.Absent = !there && !e.unread(key.Kind)
	for at, w := range o.all(ns) {
		if at.Namespace == ns && w.TemplateOwner == nil && !w.Deleting {
			e.place(p, key, at)
		}
	}
	p.sort()
	if !o.settings.Rules.NotifyOnly {
		src, _ := o.source(key)
		src.Key = key
		p.byWave(gate.SettingsOf(&src, o.wavesOf(ns), o.settings.Rules.Waves))
	}
	return p
}

// place adds a workload to the plan, if it uses or names the source. Key is what the workload knows the
// source by.
func (e *Evaluation) place(p *Plan, key source.Key, at workload.Key) {
	o := e.objects
	w, _ := o.workload(at)
	facts, _ := e.state.Facts(at)
	o.settings.Rules.Complete(&facts, reload.Installation{Key: o.settings.Key, Freeze: o.settings.Freeze}, p.Now)
	x := Explanation{Answer: Answer{Workload: facts.Workload}, Settings: o.settings}
	x.LeftOut = o.settings.passesOver(o, at)
	s := e.source(&facts, &x.Answer, o.usedAs(key, &facts))
	s.Absent, s.Deleted, s.Near = false, false, nil // the plan assumes that the source exists
	one := Planned{Key: at, Why: x.whyNot(&s), Wave: w.Policy.Wave(), Pods: int64(w.Progress.Wanted)}
	switch {
	case x.rolls(&s):
		one.Why, one.Keys, one.keys = word(&s), x.keys(&s), s.Keys
		if d := reload.Decide(facts); !o.settings.Rules.NotifyOnly {
			if src, exists := o.source(key); exists {
				src.Digest = digest.Digest{}                               // nobody has approved that
				d.Changes = append(d.Changes, reload.Concern{Source: src}) // as the change will be
			}
			one.Gate = gate.Check(&facts, &d, gate.Others{Halt: e.halt})
		}
		if one.Gate.By == gate.Notify {
			one.Why += ", but " + one.Gate.Why
			p.Left = append(p.Left, one)
			return
		}
		p.Rolled = append(p.Rolled, one)
	case len(s.Uses) > 0 || facts.Workload.Policy.Names(s.Key):
		p.Left = append(p.Left, one)
	}
}

func (p *Plan) sort() {
	for _, list := range [][]Planned{p.Rolled, p.Left} {
		slices.SortFunc(list, func(a, b Planned) int { return workload.CompareKeys(a.Key, b.Key) })
	}
}

// usedAs returns the source by which a workload uses another one: for a bundle, that may be a union
// to which it belongs.
func (o *Objects) usedAs(key source.Key, f *reload.Facts) source.LocalKey {
	src, there := o.source(key)
	if _, refers := f.Workload.Reference(key.Local()); refers || !there {
		return key.Local()
	}
	for _, ref := range f.Workload.References {
		if u, united := ref.Key.Union(); united && u.Has(&src) {
			return ref.Key
		}
	}
	return key.Local()
}

// unreadOfPlan returns the unread resources without the other kinds of sources, because the plan
// does not depend on those.
func (o *Objects) unreadOfPlan(key source.Key) []string {
	all := o.Skipped()
	for _, resource := range o.Unread() {
		switch resource {
		case key.Kind.Resource():
			all = append(all, fmt.Sprintf("You may not list %s, and the annotations and labels of this one matter, too.", resource))
		case "namespaces":
			all = append(all, "You may not list namespaces, and the controller may ignore this one.")
		default:
			if !isSource(resource) {
				all = append(all, "You may not list "+resource+", so there may be more.")
			}
		}
	}
	return all
}

// Text returns the plan for a terminal.
func (p *Plan) Text(paint Paint) string {
	page := &pageText{paint: paint}
	var pods int64
	for _, one := range p.Rolled {
		pods += one.Pods
	}
	verb := "A change of"
	if p.Absent {
		page.paragraph(fmt.Sprintf("%s does not exist.", p.Source))
		verb = "If it is created, a change of"
	}
	left := "These use or name it, and are not rolled:"
	switch {
	case p.Settings.Rules.NotifyOnly:
		left = "These use or name it, and Reroll does not notify the receiver about them:"
		page.paragraph(p.notifiedText(verb))
		page.planned(p.Rolled, false, p.Now)
	case len(p.Rolled) == 0:
		page.paragraph(p.nothing(verb))
	default:
		page.paragraph(fmt.Sprintf("%s %s rolls %s, %s in all:", verb, p.Source, counted(int64(len(p.Rolled)), "workload"), counted(pods, "Pod")))
		if p.Waves != nil {
			page.paragraph(p.inWaves())
		}
		page.planned(p.Rolled, p.Waves != nil, p.Now)
		if url := p.Settings.gateURL; url != "" {
			page.paragraph(fmt.Sprintf("Before each reload, the controller asks %s (--gate-url).", url))
		}
	}
	if len(p.Left) > 0 {
		page.gap()
		page.paragraph(left)
		page.planned(p.Left, false, p.Now)
	}
	if p.Source.Kind.ClusterScoped() {
		page.paragraph(fmt.Sprintf("Workloads of other namespaces than %s may use it, too.", p.namespace))
	}
	if p.allows {
		page.paragraph(fmt.Sprintf("Workloads of other namespaces may name it, too (%s).", annotations.AllowFromKey))
	}
	if p.grants {
		page.paragraph("Workloads of other namespaces that a ReferenceGrant allows may name it, too.")
	}
	for _, unread := range p.Unread {
		page.paragraph(unread)
	}
	if p.Settings.Assumed != "" || p.Settings.gone(p.Now) || len(p.Settings.Beside) > 0 {
		page.gap()
		p.Settings.describe(page, p.Now)
	}
	return page.b.String()
}

// nothing returns the text of a plan without workloads. If the user may not list all kinds, an
// empty plan proves nothing.
func (p *Plan) nothing(verb string) string {
	switch {
	case p.unlisted == 0:
		return fmt.Sprintf("%s %s rolls nothing.", verb, p.Source)
	case p.Listed == 0:
		return fmt.Sprintf("Unknown whether %s%s %s rolls a workload: you may list no kind of workload there.", strings.ToLower(verb[:1]), verb[1:], p.Source)
	default:
		return fmt.Sprintf("%s %s rolls no workload that you may list.", verb, p.Source)
	}
}

func (p *pageText) planned(all []Planned, waves bool, now time.Time) {
	width := 0
	for _, one := range all {
		width = max(width, columns(ref(one.Key)))
	}
	width = min(width, mostOfName)
	for _, one := range all {
		lead := "  " + ref(one.Key) + strings.Repeat(" ", max(0, width-columns(ref(one.Key)))+2)
		why := one.Why
		if waves {
			why = fmt.Sprintf("wave %d: %s", one.Wave, why)
		}
		if one.Keys != "" {
			why += "; " + one.Keys
		}
		switch {
		case one.Gate.Open(), one.Gate.By == gate.Notify: // the reason contains it
		case one.Gate.Until.IsZero():
			why += ", but waits: " + one.Gate.Why
		default:
			why += fmt.Sprintf(", not before %s: %s", one.Gate.When(now.Location()), one.Gate.Why)
		}
		for _, line := range wrap(why, Width-width-4) {
			p.b.WriteString(lead + line + "\n")
			lead = strings.Repeat(" ", width+4)
		}
	}
}

// Code returns 2 if the plan may be incomplete, otherwise 0.
func (p *Plan) Code() int {
	if len(p.Unread) > 0 || p.Settings.Unmet {
		return CodeUnknown
	}
	return 0
}
