package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/lease"
	"github.com/reroll-dev/reroll/internal/metainfo"
)

// leftBehind returns the ConfigMap that remains after a controller ends.
func leftBehind(t *testing.T, ns string, args ...string) *corev1.ConfigMap {
	cm := writtenBy(t, args...)
	cm.Name, cm.Namespace = metainfo.Name, ns
	cm.Labels = map[string]string{"reloader.stakater.com/meta-info": "reloader"}
	cm.Data["deploymentInfo"] = `{"name":"reroll-reroll","namespace":"` + ns + `"}`
	return cm
}

func leaseOf(ns, holder string, renewed time.Duration) *coordinationv1.Lease {
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: lease.Name, Namespace: ns}}
	l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds = &holder, new(int32(15))
	l.Spec.RenewTime = new(metav1.NewMicroTime(noon.Add(-renewed)))
	return l
}

// byManager sets the field manager that owns the renewal time.
func byManager(l *coordinationv1.Lease, manager string) *coordinationv1.Lease {
	l.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{}}}`)},
		{Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:renewTime":{}}}`)},
	}
	return l
}

func deploymentOf(ns string, replicas, ready int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "reroll-reroll", Namespace: ns},
		Status:     appsv1.DeploymentStatus{Replicas: replicas, ReadyReplicas: ready},
	}
}

// everywhere means a list of the ConfigMaps of all namespaces.
const everywhere = "everywhere"

// asked returns the settings that a command about a namespace uses. forbidden are resources that
// the user may not read.
func asked(t *testing.T, at, near, forbidden string, objects ...runtime.Object) *Settings {
	t.Helper()
	var cfg config.Config
	flags := pflag.NewFlagSet("why", pflag.ContinueOnError)
	cfg.BindDecisionFlags(flags)
	settings, err := Ask(t.Context(), forbidding(forbidden, objects...), &cfg, flags, at, near, noon)
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

func TestOnlyTheLeaseOrPodsShowThatAControllerRuns(t *testing.T) {
	const days = 3 * 24 * time.Hour
	none := "none is running: the last one, in namespace reroll, "
	defaults := "; this answer uses its settings, the defaults"
	for about, tc := range map[string]struct {
		forbidden string
		left      []runtime.Object
		life      life
		text      string
	}{
		"it renews its lease": {
			left: []runtime.Object{leaseOf("reroll", "pod", time.Second)},
			life: lifeRunning, text: "in namespace reroll, last active 1s ago; its settings are the defaults",
		},
		"its clock is ahead": {
			left: []runtime.Object{leaseOf("reroll", "pod", -time.Hour)},
			life: lifeRunning, text: "in namespace reroll, last active 0s ago; its settings are the defaults",
		},
		"it released its lease": {
			left: []runtime.Object{leaseOf("reroll", "", days), deploymentOf("reroll", 1, 1)},
			life: lifeEnded, text: none + "ended 3d ago" + defaults,
		},
		"Reloader holds the lease now": {
			left: []runtime.Object{byManager(leaseOf("reroll", "reloader", 0), "Reloader")},
			life: lifeEnded, text: none + "has ended" + defaults,
		},
		"its lease shows who renews it": {
			left: []runtime.Object{byManager(leaseOf("reroll", "pod", 0), "reroll")},
			life: lifeRunning, text: "in namespace reroll, last active 0s ago; its settings are the defaults",
		},
		"it was killed": {
			left: []runtime.Object{leaseOf("reroll", "pod", days)},
			life: lifeEnded, text: none + "was last active 3d ago" + defaults,
		},
		"it holds no lease, and has ready Pods": {
			left: []runtime.Object{deploymentOf("reroll", 1, 1)},
			life: lifeRunning, text: "in namespace reroll; its settings are the defaults",
		},
		"it holds no lease, and its Pods are not ready": {
			left: []runtime.Object{deploymentOf("reroll", 1, 0)},
			text: "in namespace reroll; unknown whether it runs: there is no Lease of it, and no Pod of Deployment reroll-reroll is ready; its settings are the defaults",
		},
		"it holds no lease, and is scaled to zero": {
			left: []runtime.Object{deploymentOf("reroll", 0, 0)},
			life: lifeEnded, text: none + "has ended" + defaults,
		},
		"neither its lease nor its Deployment is left": {life: lifeEnded, text: none + "has ended" + defaults},
		"its lease is not readable, and its Deployment shows it": {
			forbidden: "leases", left: []runtime.Object{leaseOf("reroll", "", days), deploymentOf("reroll", 2, 2)},
			life: lifeRunning, text: "in namespace reroll; its settings are the defaults",
		},
		"neither is readable": {
			forbidden: "leases deployments",
			text:      "in namespace reroll; unknown whether it runs: you may not read its Lease, and Deployment reroll-reroll could not be read; its settings are the defaults",
		},
	} {
		t.Run(about, func(t *testing.T) {
			s := asked(t, "", "shop", tc.forbidden, append(tc.left, leftBehind(t, "reroll"))...)
			if got := s.life(noon); got != tc.life {
				t.Errorf("it is %s, want %s", got, tc.life)
			}
			required := Status{Settings: s, Namespace: "shop", RequireController: true, Now: noon}
			if runs := required.Code() == CodeUpToDate; runs != (tc.life == lifeRunning) {
				t.Errorf("with the controller required, the exit code is %d", required.Code())
			} else if text := strings.Join(strings.Fields(required.Text(Paint{}, Layout{})), " "); !runs && !strings.Contains(text, tc.text) {
				t.Errorf("with the controller required, status shows no reason: %s", text)
			}
			if got := s.presence(noon); got != tc.text {
				t.Errorf("got  %q\nwant %q", got, tc.text)
			}
			if doc := s.json(noon); doc.State != tc.life.String() || (doc.LastActive == nil) != s.Heard.IsZero() {
				t.Errorf("the document has %+v", doc)
			}
		})
	}
}

func TestAControllerThatEndedIsNeverNamedBesideOneThatRuns(t *testing.T) {
	const days = 3 * 24 * time.Hour
	for about, tc := range map[string]struct {
		at, near  string
		forbidden string
		left      []runtime.Object
		want      string
		beside    string
		begins    string
	}{
		"both watch the namespace": {
			near: "shop", left: []runtime.Object{leftBehind(t, "a"), leaseOf("a", "", days), leftBehind(t, "b"), leaseOf("b", "pod", 0)},
			want: "b", begins: "in namespace b, last active 0s ago",
		},
		"the one that runs watches another namespace": {
			near: "shop", left: []runtime.Object{leftBehind(t, "a"), leaseOf("a", "", days), leftBehind(t, "b", "--namespaces=bank"), leaseOf("b", "pod", 0)},
			want: "a", begins: "none that watches namespace shop is running: the last one, in namespace a, ended 3d ago",
		},
		"of all namespaces, the one that runs counts although it watches one": {
			left: []runtime.Object{leftBehind(t, "a"), leaseOf("a", "", days), leftBehind(t, "b", "--namespaces=bank"), leaseOf("b", "pod", 0)},
			want: "b", begins: "in namespace b, last active 0s ago",
		},
		"two run, and one has ended": {
			near: "shop", left: []runtime.Object{leftBehind(t, "a"), leaseOf("a", "", days), leftBehind(t, "b"), leaseOf("b", "pod", 0), leftBehind(t, "c"), leaseOf("c", "pod", 0)},
			want: "b", beside: "c", begins: "in namespace b, last active 0s ago",
		},
		"the user named the one that ended": {
			at: "a", near: "shop", left: []runtime.Object{leftBehind(t, "a"), leaseOf("a", "", days), leftBehind(t, "b"), leaseOf("b", "pod", 0)},
			want: "a", begins: "none is running in namespace a: the last one there ended 3d ago",
		},
		"the user may not look everywhere": {
			near: "shop", left: []runtime.Object{leftBehind(t, "reroll"), leaseOf("reroll", "", days)}, forbidden: everywhere,
			want: "reroll", begins: "none is running in the namespaces that you may read: the last one, in namespace reroll, ended 3d ago",
		},
	} {
		t.Run(about, func(t *testing.T) {
			s := asked(t, tc.at, tc.near, tc.forbidden, tc.left...)
			if s.Controller != tc.want || strings.Join(s.Beside, " ") != tc.beside {
				t.Errorf("got %s beside %v, want %s beside %s", s.Controller, s.Beside, tc.want, tc.beside)
			}
			if got := s.presence(noon); !strings.HasPrefix(got, tc.begins) {
				t.Errorf("got %q, want %q", got, tc.begins)
			}
		})
	}
}
