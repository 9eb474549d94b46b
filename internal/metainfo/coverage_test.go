package metainfo

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/clientsettest"
)

func TestSinceWhenSettingsHold(t *testing.T) {
	now := int64(100) // the clock of the API server
	writes := 0
	var kept *corev1.ConfigMap
	client := &clientsettest.Fake{}
	client.AddReactor("*", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		written, ok := action.(interface{ GetObject() runtime.Object })
		switch {
		case ok:
			writes++
			at := metav1.NewTime(time.Unix(now, 0))
			kept = written.GetObject().(*corev1.ConfigMap).DeepCopy()
			kept.ResourceVersion = "1"
			kept.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: workload.FieldManager, Time: &at}}
		case kept == nil:
			return true, nil, apierrors.NewNotFound(action.GetResource().GroupResource(), Name)
		}
		return true, kept.DeepCopy(), nil
	})
	info := Info{Namespace: "reroll", IgnoreAnnotation: "ignore"}
	start := func(scope Scope) reload.Coverage {
		t.Helper()
		now += 10
		c, err := Coverage(context.Background(), client, info, scope)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	is := func(about string, got reload.Coverage, since, all int64) {
		t.Helper()
		if got.Since.Unix() != since || all == 0 != got.AllSince.IsZero() || all != 0 && got.AllSince.Unix() != all {
			t.Errorf("%s: since %v, all since %v; want %d and %d", about, got.Since, got.AllSince, since, all)
		}
	}
	is("the first start", start(Scope{Settings: "a"}), 110, 0)
	is("another start", start(Scope{Settings: "a"}), 110, 0)
	is("all are opted in", start(Scope{Settings: "a", AutoReloadAll: true}), 110, 130)
	is("another start of that", start(Scope{Settings: "a", AutoReloadAll: true}), 110, 130)
	is("other settings", start(Scope{Settings: "b", AutoReloadAll: true}), 150, 130)
	is("not all any more", start(Scope{Settings: "b"}), 150, 0)
	is("all again", start(Scope{Settings: "b", AutoReloadAll: true}), 150, 170)
	if writes != 10 {
		t.Errorf("it was written %d times, want two for each change", writes)
	}

	err := Write(context.Background(), client, info)
	if err != nil {
		t.Fatal(err)
	}
	is("what runs was written down", start(Scope{Settings: "b", AutoReloadAll: true}), 150, 170)
	cm, err := client.ConfigMaps("reroll").Get(context.Background(), Name, metav1.GetOptions{})
	if err != nil || cm.Annotations["ignore"] != "true" || cm.Labels[labelKey] != labelValue {
		t.Fatalf("the ConfigMap is %+v (%v)", cm, err)
	}
	is("read by others", ReadCoverage(cm), 150, 170)

	cm.Annotations[CoverageAnnotation] = `{"settings":"b","all":true,"allSince":170}`
	if _, err := client.ConfigMaps("reroll").Update(context.Background(), cm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	is("the second write was lost", start(Scope{Settings: "b", AutoReloadAll: true}), 190, 170)

	cm.Annotations[CoverageAnnotation] = "nonsense"
	if _, err := client.ConfigMaps("reroll").Update(context.Background(), cm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	is("somebody wrote nonsense", start(Scope{Settings: "b"}), 200, 0)
}
