package inspect

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// errNotRead means that the cluster was not read yet.
const errNotRead = unusable("the cluster was not read yet")

// ErrNoWorkload means that there is no such workload.
const ErrNoWorkload = unusable("there is no such workload, or Reroll does not watch it")

// with calls a function with what the answers come from, while nothing changes it.
func (v *View) with(f func(*origin) error) error {
	v.mu.Lock()
	from := v.from
	v.mu.Unlock()
	if from == nil || !v.Board().Ready {
		return errNotRead
	}
	from.locked.RLock()
	defer from.locked.RUnlock()
	return f(from)
}

// Explain returns the explanation for one workload. Pods reports whether its Pods are to be listed.
func (v *View) Explain(ctx context.Context, key workload.Key, pods bool) (x *Explanation, err error) {
	var list []Pod
	unlisted := error(errPodsOnPage)
	if pods {
		list, unlisted = v.podsOf(ctx, key)
	}
	err = v.with(func(from *origin) error {
		if _, ok := from.objects.workload(key); !ok {
			return ErrNoWorkload
		}
		e := from.objects.Evaluate(func(string) ([]Pod, error) { return list, unlisted }, v.clock.Now())
		if x, err = e.explain(key); err != nil {
			return err
		}
		if pods && unlisted == nil && x.Pods == nil {
			_, _ = e.list(&x.Answer) // they are shown even if no answer depends on them
			e.evidence(&x.Answer)
		}
		settings := *x.Settings
		x.Settings = &settings
		return nil
	})
	return x, err
}

// podsOf lists the Pods that match the selector of a workload.
func (v *View) podsOf(ctx context.Context, key workload.Key) (pods []Pod, err error) {
	var from *origin
	var w workload.Workload
	err = v.with(func(is *origin) error {
		from = is
		var ok bool
		if w, ok = is.objects.workload(key); ok && w.TemplateOwner != nil {
			w, ok = is.objects.workload(*w.TemplateOwner)
		}
		if !ok {
			return ErrNoWorkload
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case from.given != nil:
		return podsOf(&w, from.summaryPods())
	case from.cluster == nil:
		return nil, errPodsOnPage
	}
	return from.cluster.podsMatching(ctx, &w, from.objects.settings.Rules.Names)
}

// Plan returns what a change of a source would roll in all namespaces, and the source if it exists.
func (v *View) Plan(key source.Key) (p *Plan, src *source.Source, err error) {
	err = v.with(func(from *origin) error {
		if known, ok := from.objects.source(key); ok {
			src = &known
		}
		p = from.objects.plan(key.Namespace, key, from.summaryPods(), v.clock.Now())
		p.Elsewhere = from.objects.elsewhere(key, from.summaryPods(), p.Now)
		settings := *p.Settings
		p.Settings, p.Elsewhere.Settings = &settings, &settings
		return nil
	})
	return p, src, err
}

// Facts are what all pages show of a cluster.
type Facts struct {
	Settings *Settings
	Board    *Board
	// Unread are the resources that may not be listed, and Skipped explain what could not be decoded.
	Unread, Skipped []string
	NoDefaults      bool
	Frozen          []Frozen
	Now             time.Time
}

// Facts returns what all pages show of a cluster.
func (v *View) Facts() (f Facts, err error) {
	err = v.with(func(from *origin) error {
		settings := *from.objects.settings
		f = Facts{
			Settings: &settings, Board: v.Board(), Unread: from.objects.Unread(), Skipped: from.objects.Skipped(), NoDefaults: from.objects.noDefaults, Now: v.clock.Now(),
		}
		if !settings.Rules.NotifyOnly {
			f.Frozen = from.objects.frozen("", f.Now)
		}
		return nil
	})
	return f, err
}

// Waves are the workloads of a source that are rolled one after the other.
type Waves struct {
	FleetKey
	Waves []gate.WaveProgress
	// Settings describes how they are rolled.
	Settings string
	// Stopped is why no further one starts, empty if others may.
	Stopped string
}

// Waves returns the waves of some sources in some namespaces. A source that does not exist any more
// has none.
func (v *View) Waves(keys []FleetKey) (all []Waves, err error) {
	err = v.with(func(from *origin) error {
		e := from.objects.Evaluate(from.summaryPods(), v.clock.Now())
		for _, key := range keys {
			src, ok := from.objects.source(key.Source)
			if !ok {
				continue
			}
			fleet := e.fleet(&src, key.Namespace, gate.SettingsOf(&src, from.objects.wavesOf(key.Source.Namespace), from.objects.settings.Rules.Waves))
			one := Waves{FleetKey: key, Waves: fleet.Progress(), Settings: describeWaves(fleet.Settings())}
			if fleet.Stopped() {
				one.Stopped = fleet.WhyStopped()
			}
			all = append(all, one)
		}
		return nil
	})
	return all, err
}
