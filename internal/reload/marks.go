package reload

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FieldManager owns what we write. Some tools remove fields of managers whose
// name starts like one of theirs.
const FieldManager = "reroll"

// standingAnnotation returns the hash in the annotation, if it is about a source.
// It names the source of the latest reload and no other.
func (m Marks) standingAnnotation(src SourceKey) (string, bool) {
	from, err := ParseReloadedFrom(m.ReloadedFrom)
	if err != nil || from.Source != src {
		return "", false
	}
	return from.Hash, true
}

// with returns the marks as a reload leaves them.
func (m Marks) with(marking Marking) Marks {
	next := Marks{Env: slices.Clone(m.Env), ReloadedFrom: cmp.Or(marking.ReloadedFrom, m.ReloadedFrom), Rolled: cmp.Or(marking.Rolled, m.Rolled), RestartAt: cmp.Or(marking.RestartAt, m.RestartAt)}
	removed, at := map[markPlace]bool{}, map[markPlace]int{}
	for _, mark := range marking.Removed {
		removed[mark.place()] = true
	}
	next.Env = slices.DeleteFunc(next.Env, func(e EnvMark) bool { return removed[e.place()] })
	for i, mark := range slices.Backward(next.Env) {
		at[mark.place()] = i
	}
	for _, mark := range marking.Env {
		i, there := at[mark.place()]
		if !there {
			at[mark.place()] = len(next.Env)
			next.Env = append(next.Env, mark)
			continue
		}
		next.Env[i].Value = mark.Value
	}
	return next
}

// MarksDigest stands for all that a reload can leave on the workload.
func (w *Workload) MarksDigest() Digest { return w.Marks.left(StepRestart) }

// left stands for what a reload by a step leaves.
func (m Marks) left(step Step) Digest {
	template := m.digest()
	if !step.restarts() {
		return template
	}
	return append(beginning('R'), template[:]...).text(m.RestartAt).digest()
}

// digest stands for all in the pod template, in whatever order the variables are.
func (m Marks) digest() Digest {
	env := m.Env
	if order := compareEnvMarks; !slices.IsSortedFunc(env, order) {
		env = slices.SortedFunc(slices.Values(env), order)
	}
	b := beginning('M').text(m.ReloadedFrom).text(m.Rolled)
	for _, mark := range env {
		b = b.text(mark.Container).text(mark.Variable).text(mark.Value)
	}
	return b.digest()
}

func compareEnvMarks(a, b EnvMark) int {
	return cmp.Or(strings.Compare(a.Container, b.Container), strings.Compare(a.Variable, b.Variable), strings.Compare(a.Value, b.Value))
}

// markWriters reads from the managed fields who else wrote marks, and who of them
// will again. The field of a variable and that of an annotation have their names
// in them.
func markWriters(fields []metav1.ManagedFieldsEntry, names Names) (writers, appliers map[string]string) {
	for i := range fields {
		f := &fields[i]
		if f.Manager == FieldManager || f.FieldsV1 == nil {
			continue
		}
		for _, mark := range marksIn(f.FieldsV1.GetRawString(), names) {
			if writers == nil {
				writers, appliers = map[string]string{}, map[string]string{}
			}
			writers[mark] = f.Manager
			if applies(f) {
				appliers[mark] = f.Manager
			}
		}
	}
	return writers, appliers
}

// applies tells that what an entry owns stands in a manifest and will be written
// again. What somebody has written once does not: a person with kubectl, Reloader,
// or whoever has made the object.
func applies(f *metav1.ManagedFieldsEntry) bool {
	manager := strings.ToLower(f.Manager)
	return f.Manager != reloaderManager && (f.Operation == metav1.ManagedFieldsOperationApply || manager == "kubectl-client-side-apply" ||
		slices.ContainsFunc([]string{"argocd", "helm", "terraform", "pulumi"}, func(tool string) bool { return strings.HasPrefix(manager, tool) }))
}

// byReloader reads from them when Reloader wrote last, if a mark is among what it
// wrote.
func byReloader(fields []metav1.ManagedFieldsEntry, names Names) time.Time {
	var last time.Time
	for i := range fields {
		f := &fields[i]
		if f.Manager != reloaderManager || f.FieldsV1 == nil || f.Time == nil || !f.Time.After(last) {
			continue
		}
		if len(marksIn(f.FieldsV1.GetRawString(), names)) > 0 {
			last = f.Time.Time
		}
	}
	return last
}

func marksIn(raw string, names Names) []string {
	var found []string
	const before, after = `\"name\":\"`, `\"`
	for rest := raw; ; {
		i := strings.Index(rest, before+envPrefix)
		if i < 0 {
			break
		}
		variable, more, _ := strings.Cut(rest[i+len(before):], after)
		found = append(found, variable)
		rest = more
	}
	if strings.Contains(raw, `"f:`+restartField+`"`) {
		found = append(found, restartField)
	}
	for _, annotation := range []string{names.LastReloadedFrom, RolledAnnotation} {
		if strings.Contains(raw, `"f:`+annotation+`"`) {
			found = append(found, annotation)
		}
	}
	return found
}
