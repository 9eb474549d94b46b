package controller

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/grant"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/test/simapi"
)

// withGrants lets ReferenceGrants count.
func (s *stage) withGrants() *stage {
	s.opts().ReferenceGrants = true
	s.known().ReadGrants()
	return s
}

// borrows lets Deployment web, which has old Pods, name ConfigMap ca of namespace infra.
func (s *stage) borrows() {
	s.lead()
	s.oldPods = true
	s.add("web", true, "")
	s.elsewhere("infra", "ca", "1", "")
	s.names("web", "infra/ca")
}

// newGrant is a ReferenceGrant of namespace infra for ConfigMap ca, with the next version of the API.
func (s *stage) newGrant(name, namespace string) *unstructured.Unstructured {
	s.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"from": []any{map[string]any{"group": "apps", "kind": "Deployment", "namespace": namespace}},
		"to":   []any{map[string]any{"group": "", "kind": "ConfigMap", "name": "ca"}},
	}}}
	o.SetAPIVersion("gateway.networking.k8s.io/v1beta1")
	o.SetKind("ReferenceGrant")
	o.SetNamespace("infra")
	o.SetName(name)
	o.SetResourceVersion(strconv.FormatUint(s.nextVersion(), 10))
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl", Time: &metav1.Time{Time: s.server.Now()}, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:from":{}}}`)}})
	return o
}

// nextVersion returns a version for an object that the API in memory does not store.
func (s *stage) nextVersion() uint64 {
	s.Helper()
	tick := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: fmt.Sprint("tick-", s.server.Version())}}
	if _, err := s.server.Create(simapi.Object(tick), "kubectl"); err != nil {
		s.Fatal(err)
	}
	return s.server.Version()
}

// granted creates a ReferenceGrant, or removes it.
func (s *stage) granted(is bool) {
	s.Helper()
	if is {
		s.controller.grants("").arrives(s.newGrant("g", "shop"))
		return
	}
	s.controller.grants("").departs(types.NamespacedName{Namespace: "infra", Name: "g"}, strconv.FormatUint(s.nextVersion(), 10))
}

// listedGrants completes a snapshot of ReferenceGrants.
func (s *stage) listedGrants(all ...*unstructured.Unstructured) {
	h, named := s.controller.grants(""), map[types.NamespacedName]struct{}{}
	h.firstSynced = func() {}
	for _, o := range all {
		h.isListed(o)
		named[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = struct{}{}
	}
	h.SnapshotComplete(named, strconv.FormatUint(s.server.Version(), 10))
}

func TestAGrantAllowsASourceOfAnotherNamespace(t *testing.T) {
	const here = "web SourceNotAllowed: No change of ConfigMap infra/ca reloads this Deployment: it does not exist, or does not allow namespace shop. " +
		"To allow it, set the annotation reroll.dev/allow-from: shop there, or create a ReferenceGrant from group apps, kind Deployment, namespace shop there"
	const there = "ca SourceNotAllowed: Workloads of namespace shop name this ConfigMap, which does not allow that, so no change reloads them. " +
		"To allow it, add shop to the annotation reroll.dev/allow-from, or create a ReferenceGrant from group apps, kind Deployment, namespace shop"
	s := newStage(t).withGrants()
	s.lead()
	s.oldPods = true
	s.add("web", true, "")
	s.listedGrants()
	s.play(3 * time.Second)
	s.heard("at the start", "web Watching")
	s.elsewhere("infra", "ca", "1", "")
	s.names("web", "infra/ca")
	s.play(untilReported)
	s.heard("nothing allows it", there, here)
	edit := func(about, value string, want int) {
		t.Helper()
		before := s.marked
		s.elsewhere("infra", "ca", value, "")
		s.play(time.Minute)
		if got := s.marked - before; got != want {
			t.Errorf("%s: %d reloads, want %d", about, got, want)
		}
	}
	edit("without consent", "2", 0)
	before := s.marked
	s.granted(true)
	s.play(untilReported)
	s.heard("it is granted")
	if s.marked != before {
		t.Error("a grant alone reloads the workload")
	}
	edit("granted", "3", 1)
	s.says = nil
	s.granted(false)
	s.play(untilReported)
	s.heard("withdrawn, and its owner has heard of that", here)
	edit("withdrawn", "4", 0)
	s.granted(true)
	s.play(time.Minute)
	edit("granted again", "5", 1)
}

func TestNothingIsSaidOfConsentBeforeGrantsAreKnown(t *testing.T) {
	s := newStage(t).withGrants()
	s.lead()
	s.add("web", true, "")
	s.elsewhere("infra", "ca", "1", "")
	s.names("web", "infra/ca", "infra/absent")
	s.play(untilReported)
	if slices.ContainsFunc(s.says, func(text string) bool { return strings.Contains(text, "SourceNotAllowed") }) {
		t.Errorf("events %q", s.says)
	}
	s.says = nil
	s.listedGrants()
	s.play(untilReported)
	if len(s.says) != 2 {
		t.Errorf("events %q", s.says)
	}
}

// answeredGrants is how the API server answers a request for ReferenceGrants.
func answeredGrants(f feed, err error) { f.Feed.Open.(attended).answered(err) }

func TestGrantsAreWatchedWherePresent(t *testing.T) {
	if feeds := newStage(t).controller.grantFeeds(); len(feeds) > 0 {
		t.Errorf("%d watches of grants that do not count", len(feeds))
	}
	resource := kubeapi.ReferenceGrants("").Resource.GroupResource()
	missing, refused := apierrors.NewNotFound(resource, ""), apierrors.NewForbidden(resource, "", errors.New("no"))
	for about, tc := range map[string]struct {
		err    error
		logged string
		// decided reports whether the workload is decided about after a minute.
		decided bool
	}{
		"not served":  {missing, "ReferenceGrants are not installed; Reroll watches them once they are", true},
		"not allowed": {refused, "ReferenceGrants cannot be watched for lack of permission, so sources of other namespaces that need one roll nothing until a role has this rule", false},
	} {
		t.Run(about, func(t *testing.T) {
			var log bytes.Buffer
			s := newStage(t).withGrants()
			s.controller.log = slog.New(slog.NewTextHandler(&log, nil))
			s.borrows()
			f := s.controller.grantFeeds()[0]
			for range 3 {
				answeredGrants(f, tc.err)
				s.clock.Step(absenceCounts)
			}
			select {
			case <-f.synced:
			default:
				t.Error("the controller waits for them")
			}
			if n := strings.Count(log.String(), tc.logged); n != 1 {
				t.Errorf("logged %d times: %s", n, &log)
			}
			s.play(untilReported)
			if told := slices.ContainsFunc(s.says, func(text string) bool { return strings.Contains(text, "SourceNotAllowed") }); told != tc.decided {
				t.Errorf("events %q", s.says)
			}
			// They come later, with a grant: it alone rolls nothing, and an edit does.
			before := s.marked
			if tc.decided {
				s.elsewhere("infra", "ca", "2", "")
				answeredGrants(f, tc.err)
			}
			answeredGrants(f, nil)
			g := s.newGrant("g", "shop")
			s.listedGrants(g)
			s.play(time.Minute)
			if s.marked != before {
				t.Error("a grant that is served late reloads the workload")
			}
			s.elsewhere("infra", "ca", "3", "")
			s.play(time.Minute)
			if s.marked != before+1 {
				t.Errorf("%d reloads after an edit", s.marked-before)
			}
		})
	}
}

func TestTheBoundOfGrantsIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	s := newStage(t).withGrants()
	s.controller.log = slog.New(slog.NewTextHandler(&log, nil))
	h := s.controller.grants("")
	for i := range grant.Most + 5 {
		h.arrives(s.newGrant(fmt.Sprintf("g-%d", i), "bank"))
	}
	if n := strings.Count(log.String(), "too many ReferenceGrants"); n != 1 || !strings.Contains(log.String(), "namespace=infra") {
		t.Errorf("logged %d times: %s", n, &log)
	}
}

func TestHistoriesOfConsentWithGrants(t *testing.T) {
	drawConsent(t, 200, func(t *testing.T, seed uint64) *consentHistory {
		h := &consentHistory{stage: newStage(t).withGrants(), grants: true, rand: rand.New(rand.NewPCG(seed, 78)), value: "0", exists: true}
		h.listedGrants()
		return h
	})
}

// Nobody sees that the ReferenceGrant is deleted.
func TestWithoutPermissionNoReferenceGrantCounts(t *testing.T) {
	s := newStage(t).withGrants()
	s.borrows()
	f := s.controller.grantFeeds()[0]
	answeredGrants(f, nil)
	s.listedGrants(s.newGrant("g", "shop"))
	s.play(time.Minute)
	before := s.marked
	answeredGrants(f, apierrors.NewForbidden(kubeapi.ReferenceGrants("").Resource.GroupResource(), "", errors.New("no")))
	s.elsewhere("infra", "ca", "2", "")
	s.play(time.Minute)
	if s.marked != before {
		t.Errorf("%d rollouts", s.marked-before)
	}
	answeredGrants(f, nil)
	s.listedGrants(s.newGrant("g", "shop"))
	s.play(time.Minute)
	if s.marked != before+1 {
		t.Errorf("%d rollouts since the permission is back, want 1", s.marked-before)
	}
}
