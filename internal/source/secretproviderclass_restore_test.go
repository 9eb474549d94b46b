package source_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/source"
)

// What a class has lost while nobody watched, a pod shows that was given less. One that is left
// from before does not bring it back.
func TestAnObjectRemovedUnobserved(t *testing.T) {
	d := newDriver()
	older := d.mount("a", "1", "x")
	d.mount("b", "1", "x")
	newer := d.rotate("b", "1")
	class := source.NewClass(vault)
	class.Restore([]source.ClassReport{older, newer})
	src, _ := class.Source()
	if got := hex.EncodeToString(src.Reloader[:3]); got != content("1") {
		t.Errorf("the content is %s, want %s", got, content("1"))
	}
	if src.Started["a"] || src.Started["b"] {
		t.Errorf("these count as started with it: %v", src.Started)
	}
}

// Who compares it next looks at no more than that.
func TestTheCurrentDataIsReportedWithAllPods(t *testing.T) {
	d, class := newDriver(), source.NewClass(vault)
	all := class.Restore([]source.ClassReport{d.mount("a", "1"), d.mount("b", "1")})
	if len(all) != 1 || !all[0].Started["a"] || !all[0].Started["b"] {
		t.Errorf("it is told as %+v, with other pods than a and b, which have started with it", all)
	}
}

// Pods may start with an object that is added long before those that run are given it. A controller
// that comes after that has to see that these have something else than what they started with.
func TestAnObjectGivenToPodsUnobserved(t *testing.T) {
	d := newDriver()
	a, c := d.mount("a", "1"), d.mount("c", "1", "x")
	before, after := source.NewClass(vault), source.NewClass(vault)
	before.Restore([]source.ClassReport{a, c})
	after.Restore([]source.ClassReport{d.rotate("a", "1", "x"), c})
	was, _ := before.Source()
	is, _ := after.Source()
	if was.Digest == is.Digest || is.Started["a"] || !is.Started["c"] {
		t.Errorf("it was %+v, and is %+v", was, is)
	}
}

// A report that was written again does not show which of its objects are new. Other Pods may have
// started with some of them long before. If a Pod starts soon after that report and without such an
// object, its class has lost the object, and the Pod does not wait for it.
func TestAnObjectKnownLongBeforeAnotherIsGivenUnobserved(t *testing.T) {
	d := newDriver()
	a := d.mount("a", "1", "x")
	d.mount("b", "1", "x")
	rotated := d.rotate("b", "2", "x")
	class := source.NewClass(vault)
	class.Restore([]source.ClassReport{a, rotated})
	soon := d.mount("c", "2")
	soon.Created = rotated.Written.Add(2 * time.Second)
	soon.Written = soon.Created
	class.Put(soon)
	if src, _ := class.Source(); src.Started["a"] || src.Started["b"] || !src.Started["c"] {
		t.Errorf("these count as started with the present data: %v", src.Started)
	}
}

// Any object of a report that was written again may be new. A Pod that starts soon after that report and
// without the object may still be given it. If it counted as a Pod that does without it, a ledger would
// record that the Pod has the present data. If no controller ran while the Pod is given the object, the
// next one would find the same data, so that the change would be lost.
func TestAnObjectThatMayBeNewAndAPodThatStartsSoonWithoutIt(t *testing.T) {
	d := newDriver()
	d.mount("a", "1")
	given := d.rotate("a", "1", "x")
	class, next := source.NewClass(vault), source.NewClass(vault)
	class.Restore([]source.ClassReport{given})
	soon := d.mount("b", "1")
	soon.Created = given.Written.Add(2 * time.Second)
	soon.Written = soon.Created
	class.Put(soon)
	next.Restore([]source.ClassReport{given, d.rotate("b", "1", "x")})
	was, _ := class.Source()
	is, _ := next.Source()
	if was.Digest != is.Digest {
		t.Errorf("the data shows that a Pod was given the object: it was %+v, and is %+v", was, is)
	}
	if was.Started["b"] {
		t.Error("it counts as started with the present data, which it may still be given")
	}
}

// Pods that started with different versions do not show whether the store has rotated meanwhile. If
// the newest counted as the content, a ledger would say that all pods have it, and the rotation of
// an older one would be no change when a controller starts again after it.
func TestPodsOfDifferentVersionsAreNoRotationYet(t *testing.T) {
	d := newDriver()
	restored := func() (*source.Class, source.Source) {
		var standing []source.ClassReport
		for _, report := range d.pods {
			standing = append(standing, report)
		}
		class := source.NewClass(vault)
		class.Restore(standing)
		src, _ := class.Source()
		return class, src
	}
	seen := source.NewClass(vault)
	turns(seen, d.mount("a", "1"), d.mount("b", "2"))
	class, before := restored()
	if live, _ := seen.Source(); before.Digest != live.Digest || !before.Started["a"] || !before.Started["b"] || before.EditedAt != 0 {
		t.Errorf("after a restart it is %+v, and was %+v", before, live)
	}
	rotation := d.rotate("a", "2")
	if got := turns(class, rotation); !slices.Equal(got, []string{content("2")}) {
		t.Errorf("a rotation that is seen is %q", got)
	}
	if _, after := restored(); after.Digest == before.Digest || after.Started["a"] || !after.Started["b"] {
		t.Errorf("after a rotation that nobody saw it is %+v", after)
	}
}

// Two API servers recorded the times of the reports, and the clock of one is ahead. A Pod that was
// mounted before the rotation of another one has the earlier version, and is given the later one after
// that. If its report counted as a later one, that would be a second rotation.
func TestReportsAreRestoredInTheOrderOfTheirVersions(t *testing.T) {
	d, class := newDriver(), source.NewClass(vault)
	ahead := d.mount("a", "1")
	d.mount("b", "1")
	rotated := d.rotate("b", "2")
	ahead.Created, ahead.Written = rotated.Written.Add(time.Second), rotated.Written.Add(time.Second)
	d.pods["a"] = ahead
	class.Restore([]source.ClassReport{ahead, rotated})
	if src, _ := class.Source(); src.Started["a"] || src.Started["b"] {
		t.Errorf("these count as started with it: %v", src.Started)
	}
	if got := turns(class, d.rotate("a", "2")); got != nil {
		t.Errorf("the rotation of the first Pod brings %q again", got)
	}
}

// A report that was touched has a later version than that of its write. Its time decides. It does
// so, too, if nothing shows that, and the times differ by more than those of two API servers.
func TestATouchedReportIsRestoredAtItsTime(t *testing.T) {
	for name, touched := range map[string]func(earlier, later *source.ClassReport){
		"it shows that": func(earlier, later *source.ClassReport) {
			earlier.Touched, later.Written = true, earlier.Written.Add(2*time.Second)
		},
		"its time does": func(earlier, later *source.ClassReport) { later.Written = earlier.Written.Add(time.Minute) },
	} {
		d, class := newDriver(), source.NewClass(vault)
		d.mount("a", "1")
		d.mount("b", "1")
		earlier, later := d.rotate("a", "2"), d.rotate("b", "3")
		earlier.Version = later.Version + 1
		touched(&earlier, &later)
		class.Restore([]source.ClassReport{earlier, later})
		src, _ := class.Source()
		if got := hex.EncodeToString(src.Reloader[:3]); got != content("3") {
			t.Errorf("%s: the content is %s, want %s", name, got, content("3"))
		}
	}
}

// A class that was rotated forth and back has the earlier version again, which a Pod shows that was
// given it last. The times of both writes need not show their order: they are whole seconds, and the
// clocks of two API servers differ.
func TestARotationBackIsRestoredInTheOrderOfTheVersions(t *testing.T) {
	for name, apart := range map[string]time.Duration{"in the same second": 0, "by a clock that is behind": -2 * time.Second} {
		d, class := newDriver(), source.NewClass(vault)
		first := d.mount("a", "1")
		d.mount("b", "1")
		d.mount("c", "1")
		forth := d.rotate("b", "2")
		d.rotate("c", "2")
		back := d.rotate("c", "1")
		back.Written = forth.Written.Add(apart)
		class.Restore([]source.ClassReport{first, forth, back})
		src, _ := class.Source()
		if got := hex.EncodeToString(src.Reloader[:3]); got != content("1") {
			t.Errorf("%s: the data is %s, want %s", name, got, content("1"))
		}
	}
}

// A report that was touched since is no proof of a rotation back, because its version may be that of
// another write.
func TestATouchedReportIsNoRotationBack(t *testing.T) {
	d, class := newDriver(), source.NewClass(vault)
	first := d.mount("a", "1")
	d.mount("b", "1")
	d.mount("c", "0")
	older := d.rotate("c", "1")
	forth := d.rotate("b", "2")
	older.Version, older.Touched, older.Written = forth.Version+1, true, forth.Written
	class.Restore([]source.ClassReport{first, forth, older})
	src, _ := class.Source()
	if got := hex.EncodeToString(src.Reloader[:3]); got != content("2") {
		t.Errorf("the data is %s, want %s", got, content("2"))
	}
}

// The removal of a label leaves no trace, and gives a report a later version than that of its write.
func TestARotationBackLongAfterIsRestoredAtItsTime(t *testing.T) {
	d, class := newDriver(), source.NewClass(vault)
	first := d.mount("a", "1")
	d.mount("b", "1")
	d.mount("c", "2")
	forth, back := d.rotate("b", "2"), d.rotate("c", "1")
	forth.Version = back.Version + 1
	class.Restore([]source.ClassReport{first, forth, back})
	src, _ := class.Source()
	if got := hex.EncodeToString(src.Reloader[:3]); got != content("1") {
		t.Errorf("the data is %s, want %s", got, content("1"))
	}
}

// Pods go through the same versions at different times, and come and go. In any order of reports,
// each rotation is one turn. A controller that sees only the current reports gets the same data,
// unless the last report is about a Pod that lags behind, which looks like a rotation back.
func TestAnyOrderOfReportsIsOneTurnForEachRotation(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		d, class := newDriver(), source.NewClass(vault)
		rotations := 1 + r.IntN(5)
		at := map[string]int{}
		var got, want []string
		furthest, latest := 0, 0
		put := func(report source.ClassReport) { got = append(got, turns(class, report)...) }
		for i := range 1 + r.IntN(6) {
			pod := fmt.Sprintf("pod-%d", i)
			put(d.mount(pod, "0"))
			at[pod] = 0
		}
		for v := range rotations + 1 {
			want = append(want, content(fmt.Sprint(v)))
		}
		for len(at) > 0 {
			pods := make([]string, 0, len(at))
			for pod := range at {
				pods = append(pods, pod)
			}
			slices.Sort(pods)
			pod := pods[r.IntN(len(pods))]
			switch {
			case r.IntN(6) == 0:
				name := fmt.Sprintf("pod-%d", d.version)
				put(d.mount(name, fmt.Sprint(furthest)))
				at[name] = furthest
			case at[pod] == rotations:
				delete(at, pod)
			case r.IntN(8) == 0 && at[pod] < furthest:
				delete(at, pod)
				delete(d.pods, pod)
				class.Drop(pod + "-shop-vault")
			default:
				at[pod]++
				furthest = max(furthest, at[pod])
				put(d.rotate(pod, fmt.Sprint(at[pod])))
				latest = at[pod]
			}
			var standing []source.ClassReport
			for _, report := range d.pods {
				standing = append(standing, report)
			}
			if latest < furthest {
				continue
			}
			fresh := source.NewClass(vault)
			all := fresh.Restore(standing)
			if now, _ := class.Source(); len(all) != 1 || all[0].Digest != now.Digest {
				t.Fatalf("seed %d: what stands there makes up %d contents, and another one than was seen: %v, furthest %d", seed, len(all), standing, furthest)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: the content came to be %q, want %q", seed, got, want)
		}
	}
}
