package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func changesOf(names ...string) []reload.Concern {
	var all []reload.Concern
	for _, name := range names {
		all = append(all, reload.Concern{Source: source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: name}}})
	}
	return all
}

func TestAWorkloadThatIsReloadedAgainAndAgainIsReportedOnceAnHour(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	counts := newReloadCounts(clock)
	web, other := workload.Key{Kind: "Deployment", Name: "web"}, workload.Key{Kind: "Deployment", Name: "other"}
	began := clock.Now()
	var reported []time.Duration
	for range 4 * 60 {
		clock.SetTime(clock.Now().Add(30 * time.Second))
		if often, is := counts.add(web, changesOf("b", "a")); is {
			reported = append(reported, clock.Now().Sub(began))
			if often.Reloads != 10 || often.Within != 9*30*time.Second || often.Changes != 10 || often.Source.Name != "a" {
				t.Errorf("reported %+v", often)
			}
		}
	}
	if want := []time.Duration{5 * time.Minute, 65 * time.Minute}; !slices.Equal(reported, want) {
		t.Errorf("reported after %v, want %v", reported, want)
	}
	if len(counts.of[web].reloads) != manyReloads {
		t.Errorf("%d reloads are kept", len(counts.of[web].reloads))
	}
	clock.SetTime(clock.Now().Add(2 * time.Hour))
	if counts.add(other, changesOf("a")); len(counts.of) != 1 {
		t.Errorf("of %d workloads something is kept", len(counts.of))
	}
}

func TestTenReloadsInMoreThanAnHourAreNotOften(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	counts := newReloadCounts(clock)
	for range 30 {
		clock.SetTime(clock.Now().Add(oftenWithin / 9))
		if often, is := counts.add(workload.Key{Kind: "Deployment", Name: "web"}, changesOf("a")); is {
			t.Fatalf("reported %+v", often)
		}
	}
}

func TestTheSourceThatChangedMostIsNamed(t *testing.T) {
	counts := newReloadCounts(clocktesting.NewFakePassiveClock(time.Now()))
	for i := range manyReloads {
		names := []string{"state", "settings"}
		if i%3 == 0 {
			names = []string{"settings"}
		}
		if often, is := counts.add(workload.Key{Kind: "Job", Name: "load"}, changesOf(names...)); is && (often.Source.Name != "settings" || often.Changes != 10) {
			t.Errorf("reported %+v", often)
		}
	}
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprint("source-", i)
	}
	key := workload.Key{Kind: "Job", Name: "many"}
	counts.add(key, changesOf(many...))
	if got := counts.of[key].reloads[0].sources; len(got) != maxCulprits || got[maxCulprits-1].Name != "source-4999" {
		t.Errorf("kept of one reload: %v", got)
	}
}

// A Job that writes what it reads is deleted and made again by each reload: another object of the
// same name.
func TestAJobThatWritesWhatItReadsIsReportedAtItsTenthReload(t *testing.T) {
	s := newJobStage(t)
	s.run("load", unchanged)
	var want []string
	for i := range manyReloads + 2 {
		s.writes = nil
		s.edit("load", fmt.Sprint("edit-", i))
		s.play(2 * time.Minute)
		want = append(want, "load reloaded")
		if i == manyReloads-1 {
			want = append(want, "load ReloadedOften: Reloaded 10 times & ConfigMap 'load'")
		}
	}
	s.heard("made again and again", want...)
}
