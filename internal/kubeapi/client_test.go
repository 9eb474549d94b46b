package kubeapi

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/clientsettest"
)

func TestAnUnknownGroupIsAnErrorThatNamesIt(t *testing.T) {
	c := Client{Interface: clientsettest.New()}
	kind := kinds.Kind{Resource: schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}}
	key := workload.Key{Kind: "Ingress", Namespace: "shop", Name: "web"}
	opener := c.Open(Watched{Resource: kind.Resource})
	for what, request := range map[string]func() error{
		"watch":  func() error { _, err := opener.Watch(t.Context(), metav1.ListOptions{}); return err },
		"list":   func() error { _, err := opener.List(t.Context(), metav1.ListOptions{}); return err },
		"patch":  func() error { _, err := c.Patch(t.Context(), kind, key, kinds.Patch{}); return err },
		"get":    func() error { _, err := c.Get(t.Context(), kind, key); return err },
		"create": func() error { _, err := c.Create(t.Context(), kind, "shop", nil); return err },
		"try":    func() error { _, err := c.TryCreate(t.Context(), kind, "shop", nil); return err },
		"delete": func() error { return c.Delete(t.Context(), kind, key, metav1.DeleteOptions{}) },
	} {
		if err := request(); err == nil || !strings.Contains(err.Error(), `"networking.k8s.io"`) {
			t.Errorf("%s: error %v, must name the group", what, err)
		}
	}
}

// A request without a selector lists all pods of the namespace.
func TestAWorkloadWithoutLabelsHasNoPodsOfOthers(t *testing.T) {
	another := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "another", Labels: map[string]string{"app": "another"}}}
	c := Client{Interface: clientsettest.New(another)}
	for about, selector := range map[string]*metav1.LabelSelector{"unset": nil, "empty": {}, "without labels": {MatchLabels: map[string]string{}}} {
		w := &workload.Workload{Key: workload.Key{Kind: "Pool", Namespace: "shop", Name: "web"}, Custom: true, Selector: selector}
		if pods, err := c.Pods(t.Context(), w); err != nil || pods.Count != 0 {
			t.Errorf("%s: %d pods, %v", about, pods.Count, err)
		}
		if pods, err := c.Running(t.Context(), w, annotations.DefaultNames()); err != nil || len(pods) != 0 {
			t.Errorf("%s: %d pods run, %v", about, len(pods), err)
		}
	}
	named := &workload.Workload{Key: workload.Key{Kind: "Pool", Namespace: "shop", Name: "web"}, Selector: &metav1.LabelSelector{MatchLabels: another.Labels}}
	if pods, err := c.Pods(t.Context(), named); err != nil || pods.Count != 1 {
		t.Errorf("by its labels: %d pods, %v", pods.Count, err)
	}
}

// Only Pods that run count. A Job has the data of Pods that have succeeded, so these are kept, too.
func TestPodsThatHaveEnded(t *testing.T) {
	labels := map[string]string{"job-name": "load"}
	pod := func(name string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels, OwnerReferences: []metav1.OwnerReference{{UID: "load", Controller: new(true)}}}, Status: corev1.PodStatus{Phase: phase}}
	}
	running, succeeded, failed := pod("running", corev1.PodRunning), pod("succeeded", corev1.PodSucceeded), pod("failed", corev1.PodFailed)
	c := Client{Interface: clientsettest.New(running, succeeded, failed)}
	w := &workload.Workload{Key: workload.Key{Kind: "Job", Namespace: "shop", Name: "load"}, UID: "load", Selector: &metav1.LabelSelector{MatchLabels: labels}, Runs: &workload.Runs{Once: true}}
	var want reload.Pods
	want.Take(running, w)
	want.Take(succeeded, w)
	if pods, err := c.Pods(t.Context(), w); err != nil || pods.Count != 1 || !reflect.DeepEqual(pods, want) {
		t.Errorf("%+v, %v, want %+v", pods, err, want)
	}
	if pods, err := c.Running(t.Context(), w, annotations.DefaultNames()); err != nil || len(pods) != 1 || pods[0].Name != "running" {
		t.Errorf("%v run, %v", pods, err)
	}
}
