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
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// find returns the function that finds the fleet of a source: as the controller would build it
// after a restart.
func (e *Evaluation) find(facts *reload.Facts) gate.Find {
	return func(changed *reload.Concern) *gate.Fleet {
		src, ns := changed.Source, facts.Workload.Key.Namespace
		if src.Key.IsForeign() {
			return nil
		}
		settings := gate.SettingsOf(&src, facts.DefaultWaves(src.Key), facts.Waves)
		if settings.RollingBy == "" && !e.state.HasWaves(ns) {
			return nil
		}
		key := FleetKey{ns, src.Key}
		fleet, known := e.fleets[key]
		if !known {
			fleet = e.fleet(&src, ns, settings)
			e.fleets[key] = fleet
		}
		if !fleet.Limits() {
			return nil
		}
		return fleet
	}
}

// FleetKey identifies the workloads of a namespace that a source rolls one after the other.
type FleetKey struct {
	// Namespace is that of the workloads.
	Namespace string
	Source    source.Key
}

func (e *Evaluation) fleet(src *source.Source, ns string, settings gate.Settings) *gate.Fleet {
	s := e.objects.settings
	fleet := gate.NewFleet(src, settings)
	for _, key := range e.state.CandidatesIn(ns, src.Key) {
		facts, ok := e.state.FactsAlone(key, src)
		if !ok || s.passesOver(e.objects, key) != "" || facts.Workload.Deleting {
			continue
		}
		if live := e.objects.live; live != nil && live.member != nil {
			if m, known := live.member(ns, src, settings, key); known {
				fleet.Put(key, m)
				continue
			}
		}
		a := Answer{Workload: facts.Workload}
		a.readLedger()
		s.Rules.Complete(&facts, reload.Installation{Key: s.Key}, e.now)
		if s.NoKey != "" {
			facts.Instance = a.Ledger.Instance
		}
		facts.Seen.Trusted = facts.Workload.MarksDigest() // the controller checks its Pods
		tracked := e.tracked(&a)
		if settings.Soak > 0 {
			tracked.Available = e.availableSince(&a)
		}
		fleet.Put(key, gate.MemberOf(&facts, src, &settings, tracked, gate.Member{}))
	}
	return fleet
}

// tracked is what the Pods show of a rollout in progress.
func (e *Evaluation) tracked(a *Answer) gate.Tracked {
	w := &a.Workload
	// The controller tracks its own reloads, and not the rollouts of other clients.
	if _, own := rollout.LatestReload(w); !own || w.HasRolled() {
		return gate.Tracked{}
	}
	outcome, _ := e.outcome(a)
	return gate.Tracked{Following: true, Late: outcome.Exceeds(w, a.Pods.of(w), e.now), Cause: outcome.Cause}
}

// availableSince is what the Pods show of a workload whose rollout has ended, if its kind has no times
// in its status. The controller has seen when the workload became available.
func (e *Evaluation) availableSince(a *Answer) time.Time {
	w := &a.Workload
	if !w.HasRolled() || !w.Progress.CompletedAt.IsZero() {
		return time.Time{}
	}
	if a.Pods == nil {
		_, _ = e.list(a) // without permission, its soak time counts from now
	}
	return rollout.AvailableSince(w, a.Pods.of(w))
}

// turn checks the gates of a workload that has to be reloaded. A workload that may start takes its
// place, so that not more are shown as starting than the controller starts.
func (e *Evaluation) turn(facts *reload.Facts, d reload.Decision) gate.Answer {
	others := gate.Others{Find: e.find(facts), Halt: e.halt}
	a := gate.Check(facts, &d, others)
	if gateURL := e.gateURL(); a.Open() && gateURL != nil {
		others.GateURL = gateURL // the controller asks before the waves, but only their answer is known here
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
		a.Fleets = append(a.Fleets, FleetKey{a.Workload.Key.Namespace, src.Key})
		text := fmt.Sprintf("%s %s: wave %d", src.Key.Kind, src.Key.Name, wave)
		if wave != 0 {
			text += " (" + a.Workload.Policy.WaveSetBy() + ")"
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
	parts = append(parts, fmt.Sprintf("each has to stay available for %s (%s)", policy.Short(s.Soak), s.SoakBy), fmt.Sprintf("more than %d failures stop it (%s)", s.MaxFailures, s.FailuresBy))
	return strings.Join(parts, ", ")
}

// nextTurn returns when a workload that waits for others is rolled.
func (x *Explanation) nextTurn() string {
	src := x.Gate.Source
	if x.Gate.By == gate.Halted {
		return "Reroll continues when enough of the workloads that failed recover; to continue at once: " + x.Settings.on("reroll resume --all")
	}
	if x.Gate.Stopped {
		return fmt.Sprintf("Reroll continues when that workload recovers, or with other data of %s; to continue with this data: %s",
			src, x.Settings.on("reroll resume -n "+x.Workload.Key.Namespace+" "+strings.ToLower(src.Kind.String())+"/"+src.Name))
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
	src, there := o.source(key)
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
	settings := gate.SettingsOf(&src, o.wavesOf(key.Namespace), o.settings.Rules.Waves)
	// The consent on a source without a namespace is one for all, and this one shows what it ends.
	if fleet := e.fleet(&src, ns, settings); fleet.Stopped() {
		r.Stopped, r.Why = true, fleet.WhyStopped()
	}
	return r, nil
}

// wavesOf returns what the annotations of a namespace set.
func (o *Objects) wavesOf(ns string) annotations.Waves {
	if known := o.namespace(ns); known != nil {
		return known.Defaults.Waves()
	}
	return annotations.Waves{}
}

// policyOf returns the policy of a workload, with the defaults of its namespace.
func (o *Objects) policyOf(key workload.Key) policy.Policy {
	w, _ := o.workload(key)
	own := w.Policy
	if known := o.namespace(key.Namespace); known != nil {
		return own.Under(known.Defaults)
	}
	return own
}

// mistakesOf returns the mistakes in the annotations of a workload.
func (o *Objects) mistakesOf(w *workload.Workload) []annotations.Mistake {
	var defaults policy.Policy
	if known := o.namespace(w.Key.Namespace); known != nil {
		defaults = known.Defaults
	}
	return w.AllMistakes(o.settings.Rules.AutoReloadAll, defaults)
}

// newest returns the digest of a source in the ledger with the newest data.
func (o *Objects) newest(key source.Key) (sum [16]byte, ok bool) {
	var at int64
	for _, w := range o.all(key.Namespace) {
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
