package reload

import (
	"fmt"
	"math"
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
	for name, of := range map[string]func(n int) func(){
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
	} {
		t.Run(name, func(t *testing.T) {
			const little, much, most = 250, 4000, 100 // in proportion it is 16 times, by the square 256 times
			less, more := of(little), of(much)
			one, all := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			for range 20 { // the shortest is how long it takes when nothing else gets in its way
				one, all = min(one, took(less)), min(all, took(more))
				if all <= most*one {
					return
				}
			}
			t.Errorf("%d take %s, and %d take %s", little, one, much, all)
		})
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
	_, problems := workload.ReadAnnotations(workload.Kind{Name: "Deployment"}, many, nil, false, annotations.DefaultNames())
	if len(problems) != 0 {
		t.Errorf("all of %d keys were compared: %v", len(many), problems)
	}
	delete(many, "zreloader.stakater.com/auto")
	many["areloader.stakater.com/auto"] = "true"
	if _, problems = workload.ReadAnnotations(workload.Kind{Name: "Deployment"}, many, nil, false, annotations.DefaultNames()); len(problems) != 1 {
		t.Errorf("of the first ones %v is told", problems)
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
