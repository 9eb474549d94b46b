package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Finding is a mistake, or something that has no effect, in an object.
type Finding struct {
	// File and Line are the position in a manifest. They are empty for an object in a cluster.
	File string
	Line int
	// Object is the object that the finding is about.
	Object string
	Text   string
	// Note reports whether the finding may be intended.
	Note bool

	annotation string
	inTemplate bool
	// key is a key of the data, if the finding is about its value.
	key string
}

// String returns the finding on one line.
func (f Finding) String() string {
	text := f.Object + ": "
	if f.File != "" {
		text = fmt.Sprintf("%s:%d: %s", f.File, f.Line, text)
	}
	if f.Note {
		text += "note: "
	}
	return text + oneLine(f.Text)
}

// Folded returns the finding on lines that fit a terminal.
func (f Finding) Folded() string { return strings.Join(wrap(f.String(), Width-2), "\n  ") }

// Lint returns the findings about the objects that were read. For manifests, the other objects of
// the cluster are unknown, so a missing source is only a note.
func (o *Objects) Lint(manifests bool, now time.Time) []Finding {
	e := o.Evaluate(func(string) ([]Pod, error) { return nil, nil }, now)
	var all []Finding
	for key, src := range o.sources {
		if o.outside(key.Namespace) {
			continue
		}
		all = append(all, o.mistakes(named(key.Kind.String(), key.Namespace, key.Name), src.Mistakes)...)
	}
	for name, ns := range o.namespaces {
		all = append(all, o.mistakes(named("Namespace", "", name), ns.Mistakes)...)
	}
	used := map[source.Key]bool{}
	for key, w := range o.workloads {
		all = append(all, e.lint(key, &w, manifests)...)
		e.use(key, used)
	}
	for key, src := range o.sources {
		if !o.outside(key.Namespace) && src.Annotations.Match && !src.Annotations.Ignore && !used[key] {
			all = append(all, o.unsought(key, manifests))
		}
	}
	for i := range all {
		if at, ok := o.places[all[i].Object]; ok {
			all[i].File, all[i].Line = at.file, at.of(&all[i])
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Text, b.Text))
	})
	return all
}

// mistakes returns the findings about the annotations of an object.
func (o *Objects) mistakes(object string, mistakes []annotations.Mistake) []Finding {
	var all []Finding
	for _, m := range o.mistyped[object] {
		f := Finding{Object: object, Text: m.text, annotation: m.key, inTemplate: m.inTemplate}
		if m.inData {
			f.annotation, f.key = "", m.key
		}
		all = append(all, f)
	}
	for _, p := range mistakes {
		all = append(all, Finding{Object: object, Text: p.String(), annotation: p.Annotation, inTemplate: p.InTemplate})
	}
	return all
}

// use records the sources that roll a workload, or that the workload excludes by name.
func (e *Evaluation) use(key workload.Key, used map[source.Key]bool) {
	facts, ok := e.state.Facts(key)
	if !ok {
		return
	}
	for i := range facts.Concerns {
		used[facts.Concerns[i].Source.Key] = true
	}
	for _, spared := range facts.Spared {
		src, _ := e.objects.source(spared.In(key.Namespace))
		if facts.Workload.Verdict(src.Key, src.Annotations, facts.AutoReloadAll).Rule == policy.RuleExcluded {
			used[src.Key] = true
		}
	}
}

// unsought is the finding for a source with the match annotation that rolls no workload. It is a
// note if the workload that searches may be in other manifests, or of a kind that may not be
// listed.
func (o *Objects) unsought(key source.Key, manifests bool) Finding {
	where := "in namespace " + key.Namespace
	if manifests {
		where = "in these manifests"
	}
	return Finding{
		Object: named(key.Kind.String(), key.Namespace, key.Name), Note: manifests || len(o.Unread()) > 0,
		annotation: o.settings.Rules.Names.Match,
		Text:       fmt.Sprintf("annotation %s does nothing: no workload %s that uses it has %s: \"true\"", o.settings.Rules.Names.Match, where, o.settings.Rules.Names.Search),
	}
}

// named returns the name of an object, without the namespace if the manifest has none.
func named(kind, ns, name string) string {
	if ns != "" {
		name = ns + "/" + name
	}
	return kind + " " + name
}

func (e *Evaluation) lint(key workload.Key, w *workload.Workload, manifests bool) []Finding {
	var all []Finding
	say := func(note bool, format string, args ...any) {
		all = append(all, Finding{Object: named(key.Kind, key.Namespace, key.Name), Text: fmt.Sprintf(format, args...), Note: note})
	}
	all = append(all, e.objects.mistakes(named(key.Kind, key.Namespace, key.Name), e.objects.mistakesOf(w))...)
	s := e.objects.settings
	facts, ok := e.state.Facts(key)
	if !ok || !facts.Workload.Policy.OptedIn(s.Rules.AutoReloadAll) {
		return all
	}
	for _, note := range e.objects.fieldNotes[named(key.Kind, key.Namespace, key.Name)] {
		say(true, "%s", note)
	}
	x := Explanation{Answer: Answer{Workload: facts.Workload}, Settings: s}
	x.readLedger()
	rolled := false
	x.Sources = e.sources(&facts, &x.Answer)
	for i := range x.Sources {
		rolled = e.lintSource(&x, &x.Sources[i], manifests, say) || rolled
	}
	x.lintKeys(say)
	for _, n := range facts.Unmatched() {
		if !slices.ContainsFunc(n.Kinds(), e.unread) {
			say(manifests, "%s", unmatched(n))
			rolled = true
		}
	}
	if !rolled && !facts.Workload.Policy.ByItself().OptedIn(false) {
		return all // opted in by its namespace or --auto-reload-all alone, so not a mistake
	}
	if !rolled {
		all = append(all, x.idle(key, manifests))
	}
	return all
}

// lintSource adds the findings about one source of a workload, and reports whether the source rolls
// it, or may do so.
func (e *Evaluation) lintSource(x *Explanation, src *Source, manifests bool, say func(note bool, format string, args ...any)) (rolls bool) {
	rolls = src.Verdict.Concerned && !src.Ignored
	if src.Verdict.Rule == policy.RuleNoConsent {
		at, why := src.Key.In(x.Workload.Key.Namespace), x.whyNot(src)
		_, there := e.objects.source(at)
		granted := manifests && e.objects.mayBeGranted(&x.Workload, at)
		if granted {
			why = "a ReferenceGrant allows it, which counts if the controller has --enable-reference-grants"
		}
		rolls = src.Unread || granted || manifests && (!there || src.Grants != "") // in other manifests
		say(rolls, "%s, which it names: %s", src.Key, why)
	}
	if !src.Verdict.Concerned || !src.Absent || workload.Optional(src.Uses) || namesOwn(src, x.Workload.Key.Namespace) {
		return rolls
	}
	where := "does not exist"
	switch {
	case manifests:
		where = "is not in these manifests"
	case src.Deleted:
		where = "was deleted"
	}
	// If a similar name exists, the name is a typo, even if other manifests are missing.
	say(manifests && len(src.Near) == 0, "%s, which it %s, %s%s", src.Key, uses(src), where, didYouMean(src.Near))
	return rolls
}

// namesOwn reports whether a list names a source as one of another namespace, but it is the namespace
// of the workload. That is a mistake in the annotation, whether the source exists or not.
func namesOwn(src *Source, namespace string) bool {
	return src.Key.IsForeign() && !src.Key.In(namespace).IsForeign()
}

// idle is the finding for a workload that is opted in, but that no source rolls. If the workload
// searches for sources, a missing source may be in other manifests.
func (x *Explanation) idle(key workload.Key, manifests bool) Finding {
	f := Finding{Object: named(key.Kind, key.Namespace, key.Name), Text: "it is opted in, but nothing rolls it"}
	isClass := func(ref workload.Reference) bool { return ref.Key.Kind == source.SecretProviderClass }
	switch {
	case len(x.Sources) > 0:
	case manifests && slices.ContainsFunc(x.Workload.References, isClass):
		f.Text += ": it references only SecretProviderClasses, which count if the controller has --enable-csi-integration"
		f.Note = true
	default:
		f.Text += ": it references no ConfigMap or Secret, and its annotations name none"
	}
	for i := range x.Sources {
		s := &x.Sources[i]
		why := s.Verdict.Rule.String()
		if s.Ignored {
			why = x.whyNot(s)
		}
		if i == 0 {
			f.Text += fmt.Sprintf(": %s: %s", s.Key, why)
		}
		// A controller whose flags are unknown may read the kind.
		f.Note = f.Note || manifests && (s.Absent && s.Verdict.Rule == policy.RuleNoMatchAnnotation || s.Ignored && s.Key.Kind.ClusterScoped())
	}
	return f
}

// unmatched is about an expression or a selector without a source.
func unmatched(n policy.NamedSource) string {
	if n.Labels {
		return fmt.Sprintf("%q, its %s, selects no %s", n.Text, annotations.Sources, n.What())
	}
	return fmt.Sprintf("%q, an expression in its list, matches no %s", n.Text, n.What())
}

func uses(s *Source) string {
	if len(s.Uses) == 0 {
		return "names"
	}
	return "uses"
}
