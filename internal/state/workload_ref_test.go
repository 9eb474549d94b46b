package state

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func owner(version string, ann map[string]string) workload.Workload {
	meta := &metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "d-1", ResourceVersion: version, Annotations: ann}
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "app", EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web"}}}},
	}}}}
	w := workload.New(workload.Kind{Name: "Deployment"}, meta, nil, template, annotations.DefaultNames())
	w.RolledOut, w.Generation = true, 3
	return w
}

func user(name, version string, observed int64, rolledOut bool, ann map[string]string) workload.Workload {
	meta := &metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: version, Annotations: ann}
	w := workload.New(workload.Kind{Name: "Rollout"}, meta, nil, &corev1.PodTemplateSpec{}, annotations.DefaultNames())
	w.TemplateOwner = &workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}
	w.RolledOut, w.Generation = rolledOut, observed
	return w
}

func autoSays(value string) map[string]string {
	return map[string]string{annotations.DefaultNames().Auto: value}
}

// The annotations of template users count, whichever of the objects arrives first.
func TestATemplateOwnerIsOptedInByItsUsers(t *testing.T) {
	key := owner("1", nil).Key
	for about, tc := range map[string]struct {
		owner, user map[string]string
		want        bool
	}{
		"neither":                  {nil, nil, false},
		"the owner":                {autoSays("true"), nil, true},
		"the user":                 {nil, autoSays("true"), true},
		"the user comes before":    {autoSays("true"), autoSays("false"), false},
		"the user comes before, 2": {autoSays("false"), autoSays("true"), true},
	} {
		t.Run(about, func(t *testing.T) {
			for _, ownerFirst := range []bool{true, false} {
				s := New(false)
				put := []func(){
					func() { s.PutWorkload(owner("1", tc.owner), true) },
					func() { s.PutTemplateUser(user("web", "2", 3, true, tc.user), true) },
				}
				if !ownerFirst {
					put[0], put[1] = put[1], put[0]
				}
				for _, p := range put {
					p()
				}
				w, ok := s.Workload(key)
				if !ok || w.Policy.OptedIn(false) != tc.want {
					t.Errorf("owner first %v: opted in %v, want %v", ownerFirst, w.Policy.OptedIn(false), tc.want)
				}
				src := source.FromConfigMap(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: "9"}}, annotations.DefaultNames())
				if found := len(s.PutSource(src, true)) > 0; found != tc.want {
					t.Errorf("owner first %v: a source finds it: %v, want %v", ownerFirst, found, tc.want)
				}
				// And nothing of it is left when the user is gone.
				s.DropTemplateUser(user("web", "2", 3, true, nil).Key)
				if w, _ := s.Workload(key); w.Policy.OptedIn(false) != (tc.owner["reloader.stakater.com/auto"] == "true") {
					t.Errorf("owner first %v: without its user it is opted in: %v", ownerFirst, w.Policy.OptedIn(false))
				}
			}
		})
	}
}

// The Pods of a template user have the owner's template, so they show when its rollout has ended.
func TestATemplateOwnerIsRolledOutWithItsUsers(t *testing.T) {
	for about, tc := range map[string]struct {
		observed  int64
		rolledOut bool
		want      bool
	}{
		"its pods are all new":            {3, true, true},
		"its pods are being replaced":     {3, false, false},
		"it has not seen the change yet":  {2, true, false},
		"it has seen a later one already": {4, true, true},
	} {
		t.Run(about, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(owner("1", autoSays("true")), true)
			s.PutTemplateUser(user("web", "2", tc.observed, tc.rolledOut, nil), true)
			f, ok := s.Facts(owner("1", nil).Key)
			if !ok || f.Workload.RolledOut != tc.want {
				t.Errorf("at rest %v, want %v", f.Workload.RolledOut, tc.want)
			}
			s.PutWorkload(owner("3", autoSays("true")), true)
			if f, _ := s.Facts(owner("1", nil).Key); f.Workload.RolledOut != tc.want {
				t.Errorf("put again it is at rest: %v, want %v", f.Workload.RolledOut, tc.want)
			}
		})
	}
}

func TestARolledOutTemplateUserHasItsOwnerReconciled(t *testing.T) {
	s := New(false)
	s.PutWorkload(owner("1", autoSays("true")), true)
	s.PutTemplateUser(user("web", "2", 3, false, nil), true)
	if look := s.PutTemplateUser(user("web", "3", 3, true, nil), true); len(look) != 1 {
		t.Errorf("reconciled: %v", look)
	}
	if look := s.PutTemplateUser(user("web", "4", 3, true, nil), true); len(look) != 0 {
		t.Errorf("nothing differs, and reconciled: %v", look)
	}
	named := map[types.NamespacedName]struct{}{{Namespace: "shop", Name: "other"}: {}}
	s.PutTemplateUser(user("web", "5", 3, true, autoSays("false")), true)
	if look := s.KeepTemplateUsers("Rollout", "", named); len(look) != 1 {
		t.Errorf("it is gone, and reconciled: %v", look)
	}
}

// The Pods belong to the template user that is not up to date yet.
func TestTheProgressOfATemplateOwnerIsThatOfItsUsers(t *testing.T) {
	s := New(false)
	own := owner("1", nil)
	own.Progress = workload.Progress{Observed: true}
	s.PutWorkload(own, true)
	put := func(name string, observed int64, rolledOut bool, updated int32) {
		w := user(name, "2", observed, rolledOut, nil)
		w.Progress = workload.Progress{Observed: true, Wanted: 3, Updated: updated}
		s.PutTemplateUser(w, true)
	}
	is := func(about string, want workload.Progress) {
		t.Helper()
		if w, _ := s.Workload(own.Key); w.Progress != want {
			t.Errorf("%s: %+v", about, w.Progress)
		}
	}
	put("a", 3, true, 3)
	is("one that has finished", workload.Progress{Observed: true, Wanted: 3, Updated: 3})
	put("b", 2, true, 2)
	is("one that is behind", workload.Progress{Wanted: 3, Updated: 2})
	s.DropTemplateUser(user("b", "2", 3, true, nil).Key)
	put("c", 3, false, 1)
	is("one that is under way", workload.Progress{Observed: true, Wanted: 3, Updated: 1})
	s.DropTemplateUser(user("a", "2", 3, true, nil).Key)
	s.DropTemplateUser(user("c", "2", 3, true, nil).Key)
	is("none any more", workload.Progress{Observed: true})
}
