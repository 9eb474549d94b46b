package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// find returns the function that finds the fleet of a source: as the controller would build it
// after a restart.
func (e *Evaluation) find(facts *reload.Facts) gate.Find {
	return func(changed *reload.Concern) *gate.Fleet {
		src := changed.Source
		settings := gate.SettingsOf(&src, facts.Defaults.Waves(), facts.Waves)
		if settings.RollingBy == "" && !e.state.HasWaves(src.Key.Namespace) {
			return nil
		}
		fleet, known := e.fleets[src.Key]
		if !known {
			fleet = e.fleet(&src, settings)
			e.fleets[src.Key] = fleet
		}
		if !fleet.Limits() {
			return nil
		}
		return fleet
	}
}

func (e *Evaluation) fleet(src *source.Source, settings gate.Settings) *gate.Fleet {
	s := e.objects.settings
	fleet := gate.NewFleet(src, settings)
	for _, key := range e.state.Candidates(src.Key) {
		facts, ok := e.state.FactsAlone(key, src)
		if !ok || s.passesOver(e.objects, key) != "" || facts.Workload.Deleting {
			continue
		}
		a := Answer{Workload: facts.Workload}
		a.readLedger()
		s.Rules.Complete(&facts, reload.Installation{Key: s.Key}, e.now)
		if s.NoKey != "" {
			facts.Instance = a.Ledger.Instance
		}
		facts.Seen.Trusted = facts.Workload.MarksDigest() // the controller checks its Pods
		fleet.Put(key, gate.MemberOf(&facts, src, &settings, e.tracked(&a), gate.Member{}))
	}
	return fleet
}

// tracked is what the Pods show of a rollout in progress.
func (e *Evaluation) tracked(a *Answer) gate.Tracked {
	w := &a.Workload
	if w.HasRolled() || !a.Ledger.There {
		return gate.Tracked{}
	}
	outcome, _ := e.outcome(a)
	return gate.Tracked{Following: true, Late: outcome.Exceeds(w, a.Pods.of(w), e.now), Cause: outcome.Cause}
}

// turn checks the gates of a workload that has to be reloaded. A workload that may start takes its
// place, so that not more are shown as starting than the controller starts.
func (e *Evaluation) turn(facts *reload.Facts, d reload.Decision) gate.Answer {
	others := gate.Others{Find: e.find(facts), Halt: e.halt}
	a := gate.Check(facts, &d, others)
	if judge := e.judge(); a.Open() && judge != nil {
		others.Judge = judge // the controller asks before the waves, but only their answer is known here
		a = gate.Check(facts, &d, others)
	}
	if a.Open() {
		gate.Pass(facts, &d, others)
	}
	return a
}

// halt reports whether no reload of a workload starts. The controller has written that, because
// users may not read all workloads on which it depends.
func (e *Evaluation) halt(key workload.Key) gate.Answer {
	halted := e.objects.settings.Halted
	w, known := e.state.Workload(key)
	if !known || !halted.In(key.Namespace) {
		return gate.Answer{}
	}
	a := Answer{Workload: w}
	a.readLedger()
	if gate.LatestOf(&w, e.tracked(&a), e.now).Failed {
		return gate.Answer{} // its newest data may be what mends it
	}
	return gate.Answer{By: gate.Halted, Stopped: true, Why: halted.Why}
}

// waves describes how the workload is rolled with regard to others, and what sets that.
func (e *Evaluation) waves(facts *reload.Facts, a *Answer) {
	wave, find := a.Workload.Policy.Wave(), e.find(facts)
	for i := range facts.Concerns {
		fleet := find(&facts.Concerns[i])
		if fleet == nil {
			continue
		}
		src, s := &facts.Concerns[i].Source, *fleet.Settings()
		text := fmt.Sprintf("%s %s: wave %d", src.Key.Kind, src.Key.Name, wave)
		if wave != 0 {
			text += " (" + annotations.Wave + ")"
		}
		if s.Urgent {
			text += "; urgent, so it waits for no other workload (" + annotations.Urgent + ")"
		} else {
			text += "; " + describeWaves(&s)
		}
		if !slices.Contains(a.Waves, text) {
			a.Waves = append(a.Waves, text)
		}
	}
}

func describeWaves(s *gate.Settings) string {
	var parts []string
	if s.RollingBy != "" {
		parts = append(parts, fmt.Sprintf("at most %s at a time (%s)", s.MaxRolling, s.RollingBy))
	}
	parts = append(parts, fmt.Sprintf("each has to stay available for %s (%s)", s.Soak, s.SoakBy), fmt.Sprintf("more than %d failures stop it (%s)", s.MaxFailures, s.FailuresBy))
	return strings.Join(parts, ", ")
}

// nextTurn returns when a workload that waits for others is rolled.
func (x *Explanation) nextTurn() string {
	src := x.Gate.Source
	if x.Gate.By == gate.Halted {
		return "Reroll continues when enough of the workloads that failed recover; to continue at once: reroll resume --all"
	}
	if x.Gate.Stopped {
		return fmt.Sprintf("Reroll continues when that workload recovers, or with other data of %s; to continue with this data: reroll resume -n %s %s/%s",
			src, src.Namespace, strings.ToLower(src.Kind.String()), src.Name)
	}
	return "Reroll rolls it with the newest data when its turn comes"
}

// waits sets the state of a workload that waits for a gate, for a reader in a time zone.
func (a *Answer) waits(reader *time.Location) {
	a.State = Waiting
	switch {
	case (a.Gate.By == gate.Window || a.Gate.By == gate.Freeze) && a.Gate.Until.IsZero():
		a.Detail = "because " + a.Gate.Why
	case a.Gate.Until.IsZero():
		a.Detail = a.Gate.Why
	default:
		a.Detail = fmt.Sprintf("until %s: %s, and %s", a.Gate.When(reader), a.Decision.Why, a.Gate.Why)
	}
}

// byWave orders the workloads of a plan as they would be rolled, if they are rolled one after the
// other.
func (p *Plan) byWave(settings gate.Settings) {
	numbers := map[int]struct{}{}
	for _, one := range p.Rolled {
		numbers[one.Wave] = struct{}{}
	}
	if settings.Urgent || settings.RollingBy == "" && len(numbers) < 2 {
		return
	}
	p.Waves = &settings
	slices.SortStableFunc(p.Rolled, func(a, b Planned) int { return a.Wave - b.Wave })
}

// inWaves describes how the workloads of a plan are rolled one after the other.
func (p *Plan) inWaves() string {
	number := map[int]struct{}{}
	for _, one := range p.Rolled {
		number[one.Wave] = struct{}{}
	}
	text := describeWaves(p.Waves)
	if p.Waves.MaxRolling.Percent {
		text = strings.Replace(text, "at most "+p.Waves.MaxRolling.String(), fmt.Sprintf("at most %d (%s)", p.Waves.MaxRolling.Of(len(p.Rolled)), p.Waves.MaxRolling), 1)
	}
	return fmt.Sprintf("They are rolled in %s: %s.", counted(int64(len(number)), "wave"), text)
}

// Resumption is the consent to continue with the present data of a source.
type Resumption struct {
	Source source.Source
	// Digest is the value of the annotation.
	Digest string
	// Stopped reports whether failures keep workloads from being rolled, and Why which.
	Stopped bool
	Why     string
}

// Resume returns the consent to continue with the present data of a source. The digest of a Secret
// is made with the key of the controller. Without it, the digest is the one of the workload that
// was rolled last.
func (o *Objects) Resume(ns, text string, pods Pods, now time.Time) (*Resumption, error) {
	key, err := o.Source(ns, text)
	if err != nil {
		return nil, err
	}
	src, there := o.sources[key]
	if !there {
		return nil, fmt.Errorf("namespace %s has no %s %s, or you may not read it", ns, key.Kind, key.Name)
	}
	e := o.Evaluate(pods, now)
	if key.Kind.Keyed() && o.settings.NoKey != "" {
		sum, ok := o.newest(key)
		if !ok {
			return nil, fmt.Errorf("%s cannot be resumed: %s, and no workload that you may read has its digest", key, o.settings.NoKey)
		}
		src.Digest = sum
	}
	r := &Resumption{Source: src, Digest: src.Digest.String()}
	settings := gate.SettingsOf(&src, o.wavesOf(ns), o.settings.Rules.Waves)
	if fleet := e.fleet(&src, settings); fleet.Stopped() {
		r.Stopped, r.Why = true, fleet.WhyStopped()
	}
	return r, nil
}

// wavesOf returns what the annotations of a namespace set.
func (o *Objects) wavesOf(ns string) annotations.Waves {
	if known := o.namespaces[ns]; known != nil {
		return known.Defaults.Waves()
	}
	return annotations.Waves{}
}

// policyOf returns the policy of a workload, with the defaults of its namespace.
func (o *Objects) policyOf(key workload.Key) policy.Policy {
	own := o.workloads[key].Policy
	if known := o.namespaces[key.Namespace]; known != nil {
		return own.Under(known.Defaults)
	}
	return own
}

// mistakesOf returns the mistakes in the annotations of a workload.
func (o *Objects) mistakesOf(w *workload.Workload) []annotations.Problem {
	var defaults policy.Policy
	if known := o.namespaces[w.Key.Namespace]; known != nil {
		defaults = known.Defaults
	}
	return w.Mistakes(o.settings.AutoReloadAll, defaults)
}

// newest returns the digest of a source in the ledger with the newest data.
func (o *Objects) newest(key source.Key) (sum [16]byte, ok bool) {
	var at int64
	for _, w := range o.workloads {
		if w.Key.Namespace != key.Namespace || w.LedgerText == "" {
			continue
		}
		known, err := workload.ReadLedger(w.LedgerText, &w)
		if err != nil {
			continue
		}
		if entry := known.Entries[key.Local()]; !entry.IsZero() && (!ok || known.Turn.At > at) {
			sum, at, ok = entry, known.Turn.At, true
		}
	}
	return sum, ok
}
