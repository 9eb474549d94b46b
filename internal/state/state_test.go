package state

import (
	"reflect"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func configMap(name, content string, version int) source.Source {
	src := source.FromConfigMap(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: strconv.Itoa(version)},
		Data:       map[string]string{"text": content},
	}, annotations.DefaultNames())
	src.Untracked = false
	return src
}

func says(src source.Source, annotations source.Annotations) source.Source {
	annotations.Labels = src.Annotations.Labels
	src.Annotations = annotations
	return src
}

// deployment refers to a ConfigMap by an environment variable and carries annotations, given as
// key, value, ….
func deployment(name, refersTo string, version int, ann ...string) workload.Workload {
	meta := &metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: strconv.Itoa(version),
		Annotations: map[string]string{},
	}
	for i := 0; i < len(ann); i += 2 {
		meta.Annotations[ann[i]] = ann[i+1]
	}
	container := corev1.Container{Name: "app"}
	if refersTo != "" {
		container.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: refersTo},
		}}}
	}
	w := workload.New(workload.Kind{Name: "Deployment"}, meta, nil,
		&corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{container}}}, annotations.DefaultNames())
	w.APIVersion = "apps/v1"
	return w
}

const (
	auto    = "reloader.stakater.com/auto"
	byName  = "configmap.reloader.stakater.com/reload"
	search  = "reloader.stakater.com/search"
	live    = true
	inASnap = false
)

func concerned(s *State, name string) []string {
	f, _ := s.Facts(workload.Key{Kind: "Deployment", Namespace: "shop", Name: name})
	var names []string
	for _, c := range f.Concerns {
		names = append(names, c.Source.Key.Name)
	}
	return names
}

func TestASourceNamesTheWorkloadsThatItMayConcern(t *testing.T) {
	for name, tc := range map[string]struct {
		workload workload.Workload
		want     int
	}{
		"it refers to the source and is opted in":       {deployment("web", "cm", 1, auto, "true"), 1},
		"it refers to the source and is not opted in":   {deployment("web", "cm", 1), 0},
		"it refers to another source":                   {deployment("web", "other", 1, auto, "true"), 0},
		"it names the source and does not refer to it":  {deployment("web", "", 1, byName, "cm"), 1},
		"it names sources by an expression":             {deployment("web", "", 1, byName, "c.*"), 1},
		"it was opted in once, and its ledger tells so": {deployment("web", "cm", 1, annotations.Ledger, "{}"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(tc.workload, inASnap)
			if got := s.PutSource(configMap("cm", "one", 2), live); len(got) != tc.want {
				t.Errorf("got %v, want %d of them", got, tc.want)
			}
		})
	}
}

func TestAnEditWithoutADataChangeReconcilesNothing(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "cm", 1, auto, "true"), inASnap)
	s.PutSource(configMap("cm", "one", 2), live)
	if got := s.PutSource(configMap("cm", "one", 3), live); got != nil {
		t.Errorf("a new version with the same content wakes %v", got)
	}
	if got := s.PutSource(configMap("cm", "two", 4), live); len(got) != 1 {
		t.Errorf("another content wakes %v", got)
	}
}

func TestAStatusWriteDoesNotWakeTheWorkload(t *testing.T) {
	s := New(false)
	if !s.PutWorkload(deployment("web", "cm", 1, auto, "true"), live) {
		t.Error("a new workload is not looked at")
	}
	if s.PutWorkload(deployment("web", "cm", 2, auto, "true"), live) {
		t.Error("a new version in which nothing differs is looked at")
	}
	if !s.PutWorkload(deployment("web", "other", 3, auto, "true"), live) {
		t.Error("another reference is not looked at")
	}
	if !s.PutWorkload(deployment("web", "other", 4, auto, "false"), live) {
		t.Error("another policy is not looked at")
	}
}

func TestTheIndexForgetsWhatALaterVersionDoesNotReferTo(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "cm", 1, auto, "true"), live)
	s.PutWorkload(deployment("web", "other", 2, auto, "true"), live)
	if got := s.PutSource(configMap("cm", "one", 3), live); len(got) != 0 {
		t.Errorf("wakes %v", got)
	}
	s.DeleteWorkload(workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"})
	if got := s.PutSource(configMap("other", "one", 4), live); len(got) != 0 {
		t.Errorf("wakes the deleted %v", got)
	}
	if len(s.index.bySource) != 0 || len(s.index.trying) != 0 {
		t.Errorf("the index still holds %v %v", s.index.bySource, s.index.trying)
	}
}

func TestOnlyACompleteSnapshotProvesADeletion(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "cm", 1, byName, "cm.*"), live)
	s.PutSource(configMap("cm-1", "one", 2), live)
	s.PutSource(configMap("cm-2", "one", 3), live)
	s.KeepSources(source.ConfigMap, "elsewhere", nil, 0)
	s.KeepSources(source.Secret, "", nil, 0)
	if got := concerned(s, "web"); len(got) != 2 {
		t.Errorf("a snapshot of something else took sources away: %v are left", got)
	}
	s.KeepSources(source.ConfigMap, "", map[types.NamespacedName]struct{}{{Namespace: "shop", Name: "cm-2"}: {}}, 0)
	if got := concerned(s, "web"); len(got) != 1 || got[0] != "cm-2" {
		t.Errorf("%v are left, want cm-2", got)
	}
}

func TestAnOlderEventIsSkipped(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "cm", 5, auto, "true", annotations.Ledger, "ours"), live)
	if s.PutWorkload(deployment("web", "cm", 4, auto, "true"), live) {
		t.Error("the watch brings what stood there before our write, and it is looked at")
	}
	f, _ := s.Facts(workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"})
	if f.Workload.LedgerText != "ours" {
		t.Error("the answer to our own write was overwritten by an older event")
	}
}

func TestTheObservedHistoryOfASource(t *testing.T) {
	key := workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}
	for name, tc := range map[string]struct {
		puts func(s *State)
		want reload.SourceSeen
	}{
		"it was there before": {
			func(s *State) { s.PutSource(configMap("cm", "one", 7), inASnap) },
			reload.SourceSeen{Version: 7}},
		"it appeared": {
			func(s *State) { s.PutSource(configMap("cm", "one", 7), live) },
			reload.SourceSeen{Content: 7, Created: 7, Annotations: 7, Matched: 7, Version: 7}},
		"it was edited": {
			func(s *State) {
				s.PutSource(configMap("cm", "one", 7), inASnap)
				s.PutSource(configMap("cm", "two", 8), live)
				s.PutSource(configMap("cm", "two", 9), live)
			},
			reload.SourceSeen{Content: 8, Edited: true, Version: 9}},
		"it was edited, and nobody tracks its fields": {
			func(s *State) {
				s.PutSource(configMap("cm", "one", 7), inASnap)
				edited := configMap("cm", "two", 8)
				edited.Untracked = true
				s.PutSource(edited, live)
			},
			reload.SourceSeen{Content: 8, Edited: true, Timeless: true, Version: 8}},
		"keys were only removed": {
			func(s *State) {
				s.PutSource(written("ab", 7, 50), inASnap)
				s.PutSource(written("a", 8, 50), live)
			},
			reload.SourceSeen{Content: 8, Edited: true, Timeless: true, Version: 8}},
		"keys were only removed, by a client that gets a time": {
			func(s *State) {
				s.PutSource(written("ab", 7, 50), inASnap)
				s.PutSource(written("a", 8, 60), live)
			},
			reload.SourceSeen{Content: 8, Edited: true, Version: 8}},
		"after a gap nothing is known but when it was made": {
			func(s *State) {
				s.PutSource(configMap("cm", "two", 8), live)
				s.PutSource(configMap("cm", "two", 9), inASnap)
			},
			reload.SourceSeen{Created: 8, Version: 9}},
		"a snapshot that brings the same version was no gap for it": {
			func(s *State) {
				s.PutSource(configMap("cm", "two", 8), live)
				s.PutSource(configMap("cm", "two", 8), inASnap)
			},
			reload.SourceSeen{Content: 8, Created: 8, Annotations: 8, Matched: 8, Version: 8}},
		"it came to match": {
			func(s *State) {
				s.PutSource(configMap("cm", "one", 7), inASnap)
				s.PutSource(says(configMap("cm", "one", 8), source.Annotations{Match: true}), live)
				s.PutSource(says(configMap("cm", "one", 9), source.Annotations{Match: true}), live)
			},
			reload.SourceSeen{Matched: 8, Version: 9, Bound: 7}},
		"it was ignored, and is no longer": {
			func(s *State) {
				s.PutSource(configMap("cm", "one", 7), inASnap)
				s.PutSource(says(configMap("cm", "one", 8), source.Annotations{Ignore: true}), live)
				s.PutSource(configMap("cm", "one", 9), live)
				s.PutSource(says(configMap("cm", "one", 10), source.Annotations{Match: true}), live)
				s.PutSource(configMap("cm", "one", 11), live)
			},
			reload.SourceSeen{Annotations: 9, Matched: 10, Version: 11, Bound: 7}},
		"its annotations are on another object, and only the watch of its data had a gap": {
			func(s *State) {
				s.PutSource(annotatedIn(5, says(configMap("cm", "one", 7), source.Annotations{Ignore: true})), inASnap)
				s.PutSource(annotatedIn(8, configMap("cm", "one", 8)), live)
				s.PutSource(annotatedIn(8, configMap("cm", "two", 9)), inASnap)
			},
			reload.SourceSeen{Annotations: 8, Version: 9}},
		"the watch of these annotations had a gap, too": {
			func(s *State) {
				s.PutSource(annotatedIn(5, says(configMap("cm", "one", 7), source.Annotations{Ignore: true})), inASnap)
				s.PutSource(annotatedIn(8, configMap("cm", "one", 8)), live)
				s.PutSource(annotatedIn(10, configMap("cm", "two", 9)), inASnap)
			},
			reload.SourceSeen{Version: 9}},
		"a label was seen to change, and its content is older than that": {
			func(s *State) {
				s.PutSource(configMap("cm", "one", 7), inASnap)
				s.PutSource(configMap("cm", "one", 8), live)
				s.PutSource(configMap("cm", "one", 9), live)
			},
			reload.SourceSeen{Version: 9, Bound: 7}},
		"it was made again as it was, twice": {
			func(s *State) {
				s.PutWorkload(deployment("web", "cm", 1, auto, "true"), inASnap)
				s.PutSource(written("a", 7, 7), inASnap)
				for version := 8; version < 12; version += 2 {
					s.DeleteSource(configMap("cm", "one", version).Key, reload.Departure{Version: uint64(version)})
					s.PutSource(written("a", version+1, int64(version+1)), live)
				}
			},
			reload.SourceSeen{Created: 11, Departed: 10, Version: 11, Written: time.Unix(7, 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(deployment("web", "cm", 1, auto, "true"), inASnap)
			tc.puts(s)
			f, _ := s.Facts(key)
			if len(f.Concerns) != 1 || f.Concerns[0].Seen != tc.want {
				t.Errorf("got %+v, want %+v", f.Concerns, tc.want)
			}
		})
	}
}

func TestTheObservedHistoryOfAWorkload(t *testing.T) {
	key := workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}
	for name, tc := range map[string]struct {
		puts func(s *State)
		want reload.WorkloadSeen
	}{
		"it was there before": {
			func(s *State) { s.PutWorkload(deployment("web", "cm", 7, auto, "true"), inASnap) },
			reload.WorkloadSeen{Since: 7}},
		"it appeared": {
			func(s *State) { s.PutWorkload(deployment("web", "cm", 7, auto, "true"), live) },
			reload.WorkloadSeen{Template: 7, Policy: 7, Since: 7}},
		"its template was changed": {
			func(s *State) {
				s.PutWorkload(deployment("web", "cm", 7, auto, "true"), inASnap)
				s.PutWorkload(deployment("web", "other", 8, auto, "true"), live)
			},
			reload.WorkloadSeen{Template: 8, TemplateReverted: true, Since: 7}}, // it was not seen to be at rest
		"it was opted in": {
			func(s *State) {
				s.PutWorkload(deployment("web", "cm", 7), inASnap)
				s.PutWorkload(deployment("web", "cm", 8, auto, "true"), live)
			},
			reload.WorkloadSeen{Policy: 8, Since: 7}},
		"it came to ask for another way to act": {
			func(s *State) {
				s.PutWorkload(deployment("web", "cm", 7, auto, "true"), inASnap)
				s.PutWorkload(deployment("web", "cm", 8, auto, "true", annotations.Settle, "3s"), live)
			},
			reload.WorkloadSeen{Since: 7}},
		"after a gap": {
			func(s *State) {
				s.PutWorkload(deployment("web", "cm", 7, auto, "true"), live)
				s.PutWorkload(deployment("web", "cm", 9, auto, "true"), inASnap)
			},
			reload.WorkloadSeen{Policy: 7, Since: 9}}, // it is opted in as before
		"it was opted in during a gap": {
			func(s *State) {
				s.PutWorkload(deployment("web", "cm", 7), live)
				s.PutWorkload(deployment("web", "cm", 9, auto, "true"), inASnap)
			},
			reload.WorkloadSeen{Policy: 8, Since: 9}}, // not in version 7 yet
		"the API server was restored during a gap": {
			func(s *State) {
				s.PutWorkload(deployment("web", "cm", 9), live)
				s.PutWorkload(deployment("web", "cm", 7, auto, "true"), inASnap)
			},
			reload.WorkloadSeen{Since: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			tc.puts(s)
			f, _ := s.Facts(key)
			f.Seen.Recent, f.Seen.Whole, f.Seen.Widened, f.Seen.Referenced = nil, false, nil, nil
			if !reflect.DeepEqual(f.Seen, tc.want) {
				t.Errorf("got %+v, want %+v", f.Seen, tc.want)
			}
		})
	}
}

func TestAnAnswerBringsNothingBack(t *testing.T) {
	web := deployment("web", "cm", 7, auto, "true")
	other := web
	other.UID = "another"
	for about, tc := range map[string]struct {
		meanwhile func(*State)
		wantUID   bool
	}{
		"nothing happened":              {func(*State) {}, true},
		"it was deleted":                {func(s *State) { s.DeleteWorkload(web.Key) }, false},
		"it was deleted and made again": {func(s *State) { s.DeleteWorkload(web.Key); s.PutWorkload(other, live) }, false},
	} {
		t.Run(about, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(deployment("web", "cm", 6, auto, "true"), live)
			tc.meanwhile(s)
			before, there := s.Workload(web.Key)
			s.PutAnswer(web)
			now, ok := s.Workload(web.Key)
			if ok != there || tc.wantUID != (ok && now.UID == web.UID && now.ResourceVersion == "7") {
				t.Errorf("there is %t, uid %q, version %s; it was %t, uid %q", ok, now.UID, now.ResourceVersion, there, before.UID)
			}
		})
	}
}
