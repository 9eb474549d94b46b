//go:build !race

package reload

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// An object has room for thousands of whatever a user may write. What takes ten times as long for
// twice as much, takes minutes then.
func TestWhatTakesTimeTakesItInProportion(t *testing.T) {
	all := map[string]func(n int) func(){
		"references by volumes": func(n int) func() {
			var spec corev1.PodSpec
			container := corev1.Container{Name: "app"}
			for i := range n {
				volume := fmt.Sprintf("volume-%d", i)
				spec.Volumes = append(spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: volume}}})
				container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: volume})
			}
			spec.Containers = []corev1.Container{container}
			return func() { workload.References(&spec) }
		},
		"sources that are not there": func(n int) func() {
			var f Facts
			f.Workload.Policy, _ = policy.Parse(map[string]string{annotations.DefaultNames().ConfigMap: numberedEntries("named-%d", n)}, nil, annotations.DefaultNames())
			for i := range n {
				key := source.LocalKey{Kind: source.ConfigMap, Name: fmt.Sprintf("named-%05d", i)}
				f.Workload.References = append(f.Workload.References, workload.Reference{Key: key})
				f.Spared = append(f.Spared, source.LocalKey{Kind: source.ConfigMap, Name: fmt.Sprintf("there-%05d", i)})
			}
			return func() { f.Missing(); f.Unmatched(); f.Awaited() }
		},
		"marks of Reloader, without a ledger": func(n int) func() {
			f := manyMarked(n).f
			f.Workload.LedgerText = ""
			return func() { Decide(f) }
		},
		"sources that are gone": func(n int) func() {
			f := manyMarked(n).with(onDelete).f
			f.Gone = map[source.LocalKey]Departure{}
			for i := range n {
				key := source.LocalKey{Kind: source.ConfigMap, Name: fmt.Sprintf("was-there-%05d", i)}
				f.Workload.References = append(f.Workload.References, workload.Reference{Key: key})
				f.Gone[key] = Departure{Version: 20}
			}
			f.Workload.LedgerText = ""
			return func() { Decide(f) }
		},
		"entries that another selector selected": func(n int) func() {
			s := web().with(onDelete).with(selects).annotated(map[string]string{
				annotations.Sources: selector, annotations.DefaultNames().ConfigMap: numberedEntries("named-%d", n),
			})
			f := s.ledger(func(l *ledger.Ledger) {
				l.OnDelete, l.Selecting = true, digestOf("x")
				for i := range n {
					l.Entries[source.LocalKey{Kind: source.ConfigMap, Name: fmt.Sprintf("was-there-%05d", i)}] = digestOf("one")
				}
			}).f
			return func() { Decide(f) }
		},
		"a reload for all": func(n int) func() {
			s := manyMarked(n)
			d := Decision{Changes: s.f.Concerns, Ledger: ledger.Ledger{UID: "uid-1"}}
			return func() { d.Mark(&s.f.Workload, WorkloadSeen{}, digest.SecretMarksKeyed, at(100)) }
		},
		"a reload for all that were deleted": func(n int) func() {
			s := manyMarked(n)
			d := Decision{Ledger: ledger.Ledger{UID: "uid-1"}}
			for _, c := range s.f.Concerns {
				c.Deleted = true
				d.Changes = append(d.Changes, c)
			}
			return func() { d.Mark(&s.f.Workload, WorkloadSeen{}, digest.SecretMarksKeyed, at(100)) }
		},
		"a list": func(n int) func() {
			own := map[string]string{annotations.DefaultNames().ConfigMap: numberedEntries("named-%d", n)}
			return func() { policy.Parse(own, nil, annotations.DefaultNames()) }
		},
	}
	for name, of := range manyMounts() {
		all["references by "+name] = func(n int) func() {
			spec := of(n)
			return func() { workload.References(spec) }
		}
	}
	for name, of := range all {
		t.Run(name, func(t *testing.T) {
			const little, much, most = 250, 4000, 100 // in proportion it is 16 times, by the square 256 times
			less, more := of(little), of(much)
			few, many := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			for range 20 { // the shortest is how long it takes when nothing else gets in its way
				few, many = min(few, took(less)), min(many, took(more))
				if many <= most*few {
					return
				}
			}
			t.Errorf("%d take %s, and %d take %s", little, few, much, many)
		})
	}
}

// manyMounts are templates with n mounts of one volume, which has n items or sources.
func manyMounts() map[string]func(n int) *corev1.PodSpec {
	spec := func(n int, path string, volume corev1.VolumeSource) *corev1.PodSpec {
		app := corev1.Container{Name: "app"}
		for range n {
			app.VolumeMounts = append(app.VolumeMounts, corev1.VolumeMount{Name: "v", SubPath: path})
		}
		return &corev1.PodSpec{Containers: []corev1.Container{app}, Volumes: []corev1.Volume{{Name: "v", VolumeSource: volume}}}
	}
	items := func(n int, path string) *corev1.PodSpec {
		all := make([]corev1.KeyToPath, n)
		for i := range all {
			all[i] = corev1.KeyToPath{Key: fmt.Sprint(i), Path: fmt.Sprintf("dir/%d", i)}
		}
		return spec(n, path, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", Items: all}})
	}
	return map[string]func(n int) *corev1.PodSpec{
		"mounts of items":                  func(n int) *corev1.PodSpec { return items(n, "") },
		"mounts of a directory of items":   func(n int) *corev1.PodSpec { return items(n, "dir") },
		"mounts of a file that is not one": func(n int) *corev1.PodSpec { return items(n, "none") },
		"mounts of projected sources": func(n int) *corev1.PodSpec {
			var projected corev1.ProjectedVolumeSource
			for i := range n {
				name := corev1.LocalObjectReference{Name: fmt.Sprint(i)}
				projected.Sources = append(projected.Sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: name}})
			}
			return spec(n, "", corev1.VolumeSource{Projected: &projected})
		},
	}
}

// manyMarked is web with n sources, each of which has a mark that does not fit, and whose ledger
// has room for them.
func manyMarked(n int) *situation {
	s := web()
	for i := range n {
		name := fmt.Sprintf("there-%05d", i)
		s.source(source.ConfigMap, name, "two", 10, 55, SourceSeen{Version: 55})
		c := &s.f.Concerns[i]
		c.Verdict, c.Uses = policy.Verdict{Concerned: true, Rule: policy.RuleAuto}, []workload.Use{{Container: "app", How: workload.UseEnvFrom}}
		s.f.Workload.References = append(s.f.Workload.References, workload.Reference{Key: c.Source.Key.Local()})
		s.f.Workload.Marks.Env = append(s.f.Workload.Marks.Env, workload.EnvMark{Container: "app", Variable: workload.EnvVarName(c.Source.Key), Value: "0"})
	}
	return s.ledger(nil)
}

// took is the time of the processor, so that other programs do not count.
func took(what func()) time.Duration {
	// The garbage of other tests would be collected during the measurement, and counted.
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(2 << 30)) // what wastes more fails by its time
	used := func() (all time.Duration) {
		var usage syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // it cannot fail with these arguments
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	began := used()
	what()
	return max(used()-began, time.Microsecond)
}

func TestKeysBeyondAThousandAreNotComparedWithOurs(t *testing.T) {
	many := map[string]string{}
	for i := range 3000 {
		many[fmt.Sprintf("reloaded.stakater.org/key-%04d", i)] = "x"
	}
	many["zreloader.stakater.com/auto"] = "true"
	_, mistakes := workload.ReadAnnotations(workload.Kind{Name: "Deployment"}, many, nil, false, annotations.DefaultNames())
	if len(mistakes) != 0 {
		t.Errorf("all of %d keys were compared: %v", len(many), mistakes)
	}
	delete(many, "zreloader.stakater.com/auto")
	many["areloader.stakater.com/auto"] = "true"
	if _, mistakes = workload.ReadAnnotations(workload.Kind{Name: "Deployment"}, many, nil, false, annotations.DefaultNames()); len(mistakes) != 1 {
		t.Errorf("of the first ones %v is told", mistakes)
	}
}

// BenchmarkManySources is what a workload with 4,000 sources takes: a decision, and the ledger,
// which has no room for all.
func BenchmarkManySources(b *testing.B) {
	marked := manyMarked(4000).f
	marked.Workload.LedgerText = ""
	d := Decide(marked)
	for name, what := range map[string]func(){
		"decision without a ledger": func() { Decide(marked) },
		"ledger, bounded":           func() { d.Ledger.Bounded() },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				what()
			}
		})
	}
}
