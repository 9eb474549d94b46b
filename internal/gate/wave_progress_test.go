package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/internal/source"
)

func TestTheProgressOfAFleetHasEachWaveWithItsWorkloads(t *testing.T) {
	f := NewFleet(&source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "flags"}}, Settings{})
	f.Put(keyOf("web"), Member{Wave: 0, State: Waiting})
	f.Put(keyOf("api"), Member{Wave: 0, State: Held, Why: "is paused"})
	f.Put(keyOf("canary"), Member{Wave: -1, State: Done, Rolled: true})
	f.Put(keyOf("soaks"), Member{Wave: 0, State: Running, Rolled: true, Soaking: true, Why: "has to stay available until noon"})
	f.Put(keyOf("gone"), Member{Wave: 7})
	f.Remove(keyOf("gone"))
	want := []WaveProgress{
		{-1, []Standing{{keyOf("canary"), Done, "", false}}},
		{0, []Standing{{keyOf("api"), Held, "is paused", false}, {keyOf("soaks"), Running, "has to stay available until noon", true}, {keyOf("web"), Waiting, "", false}}},
	}
	if diff := cmp.Diff(want, f.Progress()); diff != "" {
		t.Error(diff)
	}
	f.Put(keyOf("rolls"), Member{Wave: 0, State: Running, Rolled: true})
	if got, want := f.waves[1].text(), "1 in progress, 1 soaking, 1 waiting, 1 held"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	f.Put(keyOf("soaks"), Member{Wave: 0, State: Done, Rolled: true})
	if got, want := f.waves[1].text(), "1 in progress, 1 waiting, 1 held, 1 done"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	for state, word := range map[State]string{Waiting: "waiting", Running: "in-progress", Failed: "failed", Held: "held", Done: "done", states: "unknown"} {
		if state.String() != word {
			t.Errorf("%d is %s, want %s", state, state, word)
		}
	}
}
