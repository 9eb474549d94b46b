package source_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

// driver writes reports as the Secrets Store CSI driver does: one for each pod, written again when
// it rotates.
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

// manyContents are those of a class that is given one version after the other of the object after some
// that stay.
func manyContents(n int, stay ...string) []string {
	var all []string
	for v := range n {
		all = append(all, content(slices.Concat(stay, []string{fmt.Sprint(v)})...))
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
		"a pod that is late, in an unknown order, starts with what was before": {func(d *driver) []source.ClassReport {
			all := []source.ClassReport{d.mount("a", "1"), d.rotate("a", "2")}
			d.second -= 8
			all = append(all, d.mount("b", "1"), d.rotate("b", "2"))
			for i := range all {
				all[i].Version = 0
			}
			return all
		}, []string{content("1"), content("2")}, map[string]bool{"a": false, "b": false}},
		"a pod starts right after with what was before, and is given the version, too": {func(d *driver) []source.ClassReport {
			all := []source.ClassReport{d.mount("a", "1"), d.rotate("a", "2")}
			d.second -= 8
			return append(all, d.mount("b", "1"), d.rotate("b", "2"))
		}, []string{content("1"), content("2"), content("1"), content("2")}, map[string]bool{"a": false, "b": false}},
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
		"a pod of the same name starts without an object, and is given it": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1", "x"), d.mount("b", "1", "x"), d.rotate("b", "1", "y"), d.over("a", "1"), d.rotate("a", "1", "y")}
		}, []string{content("1", "x"), content("1", "y"), content("1"), content("1", "y")}, map[string]bool{"a": false, "b": false}},
		"a pod of the same name starts long after an object was added, and does without it": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1", "x"), d.mount("b", "1", "x"), d.rotate("b", "1", "y"), d.over("a", "1")}
		}, []string{content("1", "x"), content("1", "y")}, map[string]bool{"a": true, "b": false}},
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
		"pods start without an object, and all of them are given it": {func(d *driver) []source.ClassReport {
			return []source.ClassReport{d.mount("a", "1", "x"), d.mount("b", "1"), d.mount("c", "1"), d.rotate("b", "1", "y"), d.rotate("c", "1", "y")}
		}, []string{content("1", "x"), content("1", "y")}, map[string]bool{"a": false, "b": false, "c": false}},
		"the same, with more turns between than are kept": {func(d *driver) []source.ClassReport {
			all := []source.ClassReport{d.mount("a", "0", "x"), d.mount("b", "0"), d.mount("c", "0")}
			for v := range 40 {
				all = append(all, d.rotate("b", "0", fmt.Sprint(v)))
			}
			return append(all, d.rotate("c", "0", "39"))
		}, append([]string{content("0", "x")}, manyContents(40, "0")...), map[string]bool{"a": false, "b": false, "c": false}},
		"long after that, a pod starts without it, and does without it for many turns": {func(d *driver) []source.ClassReport {
			all := []source.ClassReport{d.mount("a", "0", "x"), d.mount("b", "0"), d.rotate("b", "0", "x"), d.mount("c", "0")}
			for v := range 40 {
				all = append(all, d.rotate("a", "0", fmt.Sprint(v)))
			}
			return all
		}, append([]string{content("0", "x"), content("0"), content("0", "x")}, manyContents(40, "0")...), map[string]bool{"a": false, "b": false, "c": true}},
		"a pod starts without an object just after one that runs is given it": {func(d *driver) []source.ClassReport {
			all := []source.ClassReport{d.mount("a", "1", "x"), d.mount("b", "1"), d.rotate("b", "1", "y")}
			d.second -= 8
			return append(all, d.mount("c", "1"))
		}, []string{content("1", "x"), content("1", "y")}, map[string]bool{"a": false, "b": false, "c": false}},
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
	if got := class.Definition(); got.Key != vault || got.UID != "u-1" || got.ResourceVersion != "9" || len(got.Mistakes) != 1 {
		t.Errorf("it is %+v", got)
	}
	class.Undefine(12)
	if got := class.Definition(); got.UID != "" || got.ResourceVersion != "" || len(got.Mistakes) != 0 {
		t.Errorf("after it is gone it is %+v", got)
	}
}
