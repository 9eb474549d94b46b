package workload

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
)

// MarkPlace is the place of a mark in a pod template.
type MarkPlace struct{ Container, Variable string }

// Place returns the place of the mark.
func (m EnvMark) Place() MarkPlace { return MarkPlace{m.Container, m.Variable} }

// Places returns the values of the marks. If two are in one place, the first counts.
func (m Marks) Places() map[MarkPlace]string {
	places := make(map[MarkPlace]string, len(m.Env))
	for _, env := range m.Env {
		if _, there := places[env.Place()]; !there {
			places[env.Place()] = env.Value
		}
	}
	return places
}

// Marking contains all changes of a reload.
type Marking struct {
	Env []EnvMark
	// Removed are existing variables to remove.
	Removed []EnvMark
	// ReloadedFrom is the text of the annotation that names the source.
	ReloadedFrom string
	// Rolled is a value for annotations.Rolled. It is set if the other marks would not change the
	// template, or would restore a template that Pods may still have.
	Rolled string
	// RestartAt is the time before which created Pods are restarted. If it is set, the pod template
	// stays unchanged.
	RestartAt string
	// PausedAt is when this reload pauses the workload, if it does.
	PausedAt string
}

// FieldManager owns our fields. Some tools remove fields of managers whose name has the same prefix
// as theirs.
const FieldManager = "reroll"

// WrittenByOthers reports whether other field managers own a field, such as renewTime, and Reroll
// does not.
func WrittenByOthers(managed []metav1.ManagedFieldsEntry, field string) bool {
	others := false
	for i := range managed {
		if !source.OwnsField(managed[i].FieldsV1, field) {
			continue
		}
		if managed[i].Manager == FieldManager {
			return false
		}
		others = true
	}
	return others
}

// CurrentAnnotation returns the hash in the annotation, if that names the source. The annotation
// names only the source of the latest reload.
func (m Marks) CurrentAnnotation(src source.Key) (string, bool) {
	from, err := ParseReloadedFrom(m.ReloadedFrom)
	if err != nil || from.Source != src.Origin() {
		return "", false
	}
	return from.Hash, true
}

// With returns the marks after a reload.
func (m Marks) With(marking Marking) Marks {
	next := Marks{Env: slices.Clone(m.Env), ReloadedFrom: cmp.Or(marking.ReloadedFrom, m.ReloadedFrom), Rolled: cmp.Or(marking.Rolled, m.Rolled), RestartAt: cmp.Or(marking.RestartAt, m.RestartAt)}
	removed, at := map[MarkPlace]bool{}, map[MarkPlace]int{}
	for _, mark := range marking.Removed {
		removed[mark.Place()] = true
	}
	next.Env = slices.DeleteFunc(next.Env, func(e EnvMark) bool { return removed[e.Place()] })
	for i, mark := range slices.Backward(next.Env) {
		at[mark.Place()] = i
	}
	for _, mark := range marking.Env {
		i, there := at[mark.Place()]
		if !there {
			at[mark.Place()] = len(next.Env)
			next.Env = append(next.Env, mark)
			continue
		}
		next.Env[i].Value = mark.Value
	}
	return next
}

// MarksDigest is a digest of all marks that a reload can write.
func (w *Workload) MarksDigest() digest.Digest { return w.Marks.DigestAfter(ledger.StepRestart) }

// DigestAfter is the digest of the marks that a reload by a step writes.
func (m Marks) DigestAfter(step ledger.Step) digest.Digest {
	template := m.Digest()
	if !step.Restarts() {
		return template
	}
	return append(digest.Beginning('R'), template[:]...).Text(m.RestartAt).Digest()
}

// Digest covers all marks in the pod template, in any order of the variables.
func (m Marks) Digest() digest.Digest {
	env := m.Env
	if order := compareEnvMarks; !slices.IsSortedFunc(env, order) {
		env = slices.SortedFunc(slices.Values(env), order)
	}
	b := digest.Beginning('M').Text(m.ReloadedFrom).Text(m.Rolled)
	for _, mark := range env {
		b = b.Text(mark.Container).Text(mark.Variable).Text(mark.Value)
	}
	return b.Digest()
}

func compareEnvMarks(a, b EnvMark) int {
	return cmp.Or(strings.Compare(a.Container, b.Container), strings.Compare(a.Variable, b.Variable), strings.Compare(a.Value, b.Value))
}

// markWriters reads from the managed fields which other clients wrote marks, and which of them will
// write them again. The names of the fields contain the names of the variables and annotations.
func markWriters(fields []metav1.ManagedFieldsEntry, names annotations.Names) (writers, appliers map[string]string) {
	for i := range fields {
		f := &fields[i]
		if f.Manager == FieldManager || f.FieldsV1 == nil {
			continue
		}
		for _, mark := range marksIn(f.FieldsV1, names) {
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

// applies reports whether the fields of an entry are part of a manifest and will be written again.
// A field that a client wrote once will not: by kubectl edit, by Reloader, or by the creator of the
// object.
func applies(f *metav1.ManagedFieldsEntry) bool {
	manager := strings.ToLower(f.Manager)
	return f.Manager != ReloaderManager && (f.Operation == metav1.ManagedFieldsOperationApply || manager == "kubectl-client-side-apply" ||
		slices.ContainsFunc([]string{"argocd", "helm", "terraform", "pulumi"}, func(tool string) bool { return strings.HasPrefix(manager, tool) }))
}

// byReloader reads when Reloader wrote last, if its fields include a mark.
func byReloader(fields []metav1.ManagedFieldsEntry, names annotations.Names) time.Time {
	var last time.Time
	for i := range fields {
		f := &fields[i]
		if f.Manager != ReloaderManager || f.FieldsV1 == nil || f.Time == nil || !f.Time.After(last) {
			continue
		}
		if len(marksIn(f.FieldsV1, names)) > 0 {
			last = f.Time.Time
		}
	}
	return last
}

func marksIn(fields *metav1.FieldsV1, names annotations.Names) []string {
	var found []string
	const before, after = `\"name\":\"`, `\"`
	for rest := fields.GetRawBytes(); ; {
		i := bytes.Index(rest, []byte(before+envPrefix))
		if i < 0 {
			break
		}
		variable, more, _ := bytes.Cut(rest[i+len(before):], []byte(after))
		found = append(found, string(variable))
		rest = more
	}
	for _, field := range []string{RestartField, names.LastReloadedFrom, annotations.Rolled} {
		if source.OwnsField(fields, field) {
			found = append(found, field)
		}
	}
	return found
}

// ReloaderManager is the field manager under which Reloader writes.
const ReloaderManager = "Reloader"

// RestartField is the field of the time of a restart in the spec.
const RestartField = "restartAt"

// Marks are the traces of earlier reloads in a pod template, by any client.
type Marks struct {
	// Env are the variables of the regular containers that look like marks.
	Env []EnvMark
	// ReloadedFrom is the text of the annotation.
	ReloadedFrom string
	// Rolled is the text of the annotation annotations.Rolled.
	Rolled string
	// RestartAt is the time before which created Pods are restarted.
	RestartAt string
	// Writers are, by variable or annotation, field managers other than ours, and Appliers are the
	// managers among them that apply a manifest.
	Writers, Appliers map[string]string
	// ByReloader is when Reloader last wrote to the object, zero if it wrote no mark.
	ByReloader time.Time
}

// EnvMark is a variable of one container.
type EnvMark struct {
	Container, Variable, Value string
}

// MarksOf reads the marks of a pod template, or of a Pod.
func MarksOf(ann map[string]string, spec *corev1.PodSpec, names annotations.Names) Marks {
	m := Marks{ReloadedFrom: ann[names.LastReloadedFrom], Rolled: ann[annotations.Rolled]}
	for i := range spec.Containers {
		container := &spec.Containers[i]
		for _, env := range container.Env {
			if isMark(env) {
				m.Env = append(m.Env, EnvMark{Container: container.Name, Variable: env.Name, Value: env.Value})
			}
		}
	}
	return m
}

func isMark(env corev1.EnvVar) bool { return strings.HasPrefix(env.Name, envPrefix) }
