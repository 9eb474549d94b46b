package source_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

// driver writes reports as the Secrets Store CSI driver does: one for each pod, written again when it rotates.
type driver struct {
	second  int64
	version uint64
	pods    map[string]source.ClassReport
}

func newDriver() *driver { return &driver{second: 1000, pods: map[string]source.ClassReport{}} }

var vault = source.Key{Kind: source.SecretProviderClass, Namespace: "shop", Name: "vault"}

func (d *driver) tick() time.Time {
	d.second += 10
	d.version++
	return time.Unix(d.second, 0)
}

func (d *driver) mount(pod string, versions ...string) source.ClassReport {
	now := d.tick()
	r := source.ClassReport{Name: pod + "-shop-vault", Class: vault, Pod: pod, Owner: "uid", Created: now, Written: now, Version: d.version, Objects: objects(versions)}
	d.pods[pod] = r
	return r
}

func (d *driver) rotate(pod string, versions ...string) source.ClassReport {
	r := d.pods[pod]
	r.Written = d.tick()
	r.Version, r.Objects = d.version, objects(versions)
	d.pods[pod] = r
	return r
}

// over is how a pod mounts that comes before the report of an earlier one of its name is gone.
func (d *driver) over(pod string, versions ...string) source.ClassReport {
	r := d.rotate(pod, versions...)
	r.Owner += ", and another"
	d.pods[pod] = r
	return r
}

func objects(versions []string) map[string]string {
	all := map[string]string{}
	for i, v := range versions {
		if v != "" {
			all[fmt.Sprintf("object-%d", i)] = v
		}
	}
	return all
}

// turns puts reports and returns what the content has come to be, by its first object.
func turns(class *source.Class, reports ...source.ClassReport) []string {
	var all []string
	for _, r := range reports {
		for _, src := range class.Put(r) {
			all = append(all, hex.EncodeToString(src.Reloader[:3]))
		}
	}
	return all
}

func content(versions ...string) string {
	text := "SecretProviderClassName=vault"
	for i, v := range versions {
		if v != "" {
			text += fmt.Sprintf(";object-%d=%s", i, v)
		}
	}
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:3])
}

// manyContents are those of a class that is given one version after the other.
func manyContents(n int) []string {
	var all []string
	for v := range n {
		all = append(all, content(fmt.Sprint(v)))
	}
	return all
}

func TestWhatAClassComesToBe(t *testing.T) {
	for name, tc := range map[string]struct {
		reports func(d *driver) []source.ClassReport
		want    []string
		started map[string]bool
	}{
		"a rotation is told by every pod": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.mount("b", "1"), d.rotate("b", "2"), d.rotate("a", "2")}
		}, []string{content("1"), content("2")}, map[string]bool{"a": false, "b": false}},
		"a pod that starts with the same": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.rotate("a", "2"), d.mount("b", "2")}
		}, []string{content("1"), content("2")}, map[string]bool{"a": false, "b": true}},
		"a pod that is late starts with what was before": {func(d *driver) []source.ClassReport {
			all := []source.ClassReport{d.mount("a", "1"), d.rotate("a", "2")}
			d.second -= 8
			return append(all, d.mount("b", "1"), d.rotate("b", "2"))
		}, []string{content("1"), content("2")}, map[string]bool{"a": false, "b": false}},
		"only one pod was given a version, and one that starts later is given it, too": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.rotate("a", "2"), d.mount("b", "1"), d.rotate("b", "2")}
		}, []string{content("1"), content("2"), content("1"), content("2")}, map[string]bool{"a": false, "b": false}},
		"it goes back to an earlier version": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.mount("b", "1"), d.rotate("a", "2"), d.rotate("b", "2"), d.rotate("a", "1"), d.rotate("b", "1")}
		}, []string{content("1"), content("2"), content("1")}, nil},
		"a pod that had what is there again is given what came between": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.mount("b", "1"), d.rotate("a", "2"), d.rotate("a", "1"), d.rotate("b", "2")}
		}, []string{content("1"), content("2"), content("1"), content("2")}, map[string]bool{"a": false, "b": false}},
		"a pod starts with something newer before it is rotated": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.mount("b", "2"), d.rotate("a", "2")}
		}, []string{content("1"), content("2")}, map[string]bool{"a": false, "b": true}},
		"every pod starts with something else": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.mount("b", "2"), d.mount("c", "3")}
		}, []string{content("1")}, map[string]bool{"a": true, "b": true, "c": true}},
		"a pod is given what counts as the content, and had something else": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.mount("b", "2"), d.rotate("b", "1")}
		}, []string{content("1"), content("2"), content("1")}, map[string]bool{"a": true, "b": false}},
		"nothing is mounted yet": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a"), d.rotate("a", "1"), d.mount("b", "1"), d.rotate("b")}
		}, []string{content("1")}, map[string]bool{"a": true, "b": true}},
		"an object is added and taken away": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.mount("b", "1"), d.rotate("a", "1", "x"), d.rotate("b", "1", "x"), d.rotate("a", "1"), d.rotate("b", "1")}
		}, []string{content("1"), content("1", "x"), content("1")}, nil},
		"an object is added, and a pod is not given it yet": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.mount("b", "1"), d.rotate("a", "1", "x")}
		}, []string{content("1"), content("1", "x")}, map[string]bool{"a": false, "b": false}},
		"a pod starts with an object that is added, and one that runs is given it": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.mount("b", "1"), d.mount("c", "1", "x"), d.rotate("a", "1", "x")}
		}, []string{content("1"), content("1", "x")}, map[string]bool{"a": false, "b": false, "c": true}},
		"an object is added and taken away, a pod starts, and it is added as it was": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.rotate("a", "1", "x"), d.rotate("a", "1"), d.mount("b", "1"), d.rotate("b", "1", "x")}
		}, []string{content("1"), content("1", "x"), content("1"), content("1", "x")}, map[string]bool{"a": false, "b": false}},
		"an object is added again, and a pod that starts at once is not given it yet": {func(d *driver) []source.ClassReport {
			all := []source.ClassReport{d.mount("a", "1"), d.rotate("a", "1", "x"), d.rotate("a", "1"), d.rotate("a", "1", "x")}
			d.second -= 8
			return append(all, d.mount("b", "1"))
		}, []string{content("1"), content("1", "x"), content("1"), content("1", "x")}, map[string]bool{"a": false, "b": false}},
		"an object is added, and a pod that starts later does without it": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.rotate("a", "1", "x"), d.mount("b", "1"), d.rotate("a", "1", "y")}
		}, []string{content("1"), content("1", "x"), content("1", "y")}, map[string]bool{"a": false, "b": true}},
		"a pod misses more turns than are kept, and is given the latest": {func(d *driver) []source.ClassReport {
			all := []source.ClassReport{d.mount("a", "0"), d.mount("b", "0")}
			for v := range 40 {
				all = append(all, d.rotate("a", fmt.Sprint(v+1)))
			}
			return append(all, d.mount("c", "40"), d.rotate("b", "40"))
		}, manyContents(41), map[string]bool{"a": false, "b": false, "c": true}},
		"a pod starts without an object, and is given it": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1", "x"), d.mount("b", "1"), d.rotate("b", "1", "x")}
		}, []string{content("1", "x"), content("1"), content("1", "x")}, map[string]bool{"a": true, "b": false}},
		"an object is taken away, a pod starts, and it is added again": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{
				d.mount("a", "1", "x"), d.mount("b", "1"), d.rotate("a", "1"), d.rotate("a", "1", "y"),
			}
		}, []string{content("1", "x"), content("1"), content("1", "y")}, map[string]bool{"a": false, "b": false}},
		"pods mount other objects of one class": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.mount("b", "", "x"), d.rotate("a", "2"), d.mount("c", "2"), d.mount("d", "", "x")}
		}, []string{content("1"), content("2")}, map[string]bool{"a": false, "b": true, "c": true, "d": true}},
		"a pod of the same name comes": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.mount("b", "1"), d.over("a", "1")}
		}, []string{content("1")}, map[string]bool{"a": true, "b": true}},
		"a pod of the same name starts with something newer": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.mount("b", "1"), d.over("a", "2"), d.rotate("b", "2")}
		}, []string{content("1"), content("2")}, map[string]bool{"a": true, "b": false}},
		"a pod of the same name is rotated": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1"), d.mount("b", "1"), d.over("a", "1"), d.rotate("a", "2")}
		}, []string{content("1"), content("2")}, map[string]bool{"a": false, "b": false}},
		"what is told twice": {func(d *driver) []source.ClassReport {
			a, b := d.mount("a", "1"), d.rotate("a", "2")
			return []source.ClassReport{a, b, a, b}
		}, []string{content("1"), content("2")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			class := source.NewClass(vault)
			if got := turns(class, tc.reports(newDriver())...); !slices.Equal(got, tc.want) {
				t.Errorf("it came to be %q, want %q", got, tc.want)
			}
			src, _ := class.Source()
			for pod, want := range tc.started {
				if got, ok := src.Started[pod]; !ok || got != want {
					t.Errorf("%s has started with the present content: %t (%t), want %t", pod, got, ok, want)
				}
			}
		})
	}
}

func TestNoReportsAreNoOtherContent(t *testing.T) {
	d, class := newDriver(), source.NewClass(vault)
	if _, ok := class.Source(); ok {
		t.Error("there is a content before any pod has reported")
	}
	turns(class, d.mount("a", "1"), d.rotate("a", "2"))
	before, _ := class.Source()
	class.Drop("a-shop-vault")
	after, ok := class.Source()
	if !ok || after.Digest != before.Digest || !class.Unknown() {
		t.Errorf("the content is gone with the last pod: %t", ok)
	}
	class.Define(&metav1.ObjectMeta{Name: "vault", Annotations: map[string]string{"reloader.stakater.com/match": "true"}}, 9, annotations.DefaultNames())
	if src, _ := class.Source(); !src.Annotations.Match || class.Unknown() {
		t.Error("what its own object says is not known")
	}
}

// Mistakes on the object of a class can be reported at once, on that object.
func TestTheObjectOfAClassIsKnownBeforeAnyPodReports(t *testing.T) {
	class := source.NewClass(vault)
	meta := &metav1.ObjectMeta{Name: "vault", Namespace: "shop", UID: "u-1", ResourceVersion: "9", Annotations: map[string]string{"reloader.stakater.com/mach": "true"}}
	class.Define(meta, 9, annotations.DefaultNames())
	if got := class.Definition(); got.Key != vault || got.UID != "u-1" || got.ResourceVersion != "9" || len(got.Problems) != 1 {
		t.Errorf("it is %+v", got)
	}
	class.Undefine()
	if got := class.Definition(); got.UID != "" || got.ResourceVersion != "" || len(got.Problems) != 0 {
		t.Errorf("after it is gone it is %+v", got)
	}
}

// What a class has lost while nobody watched, a pod shows that was given less. One that is left from before does not bring it back.
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

// Pods may start with an object that is added long before those that run are given it. A controller that comes after that has
// to see that these have something else than what they started with.
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

// Pods that started with different versions do not show whether the store has rotated meanwhile. If the newest counted as the
// content, a ledger would say that all pods have it, and the rotation of an older one would be no change when a controller
// starts again after it.
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

// Pods go through the same versions at different times, and come and go. In any order of reports, each
// rotation is one turn. A controller that sees only the current reports gets the same data, unless the
// last report is about a Pod that lags behind, which looks like a rotation back.
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
