package edges

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// optedIn is a Deployment without pods that asks to be rolled for a ConfigMap.
func optedIn(name, configMap string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	none := int32(0)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"reloader.stakater.com/auto": "true"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: &none,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "app", Image: "app",
					EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
						LocalObjectReference: corev1.LocalObjectReference{Name: configMap},
					}}},
				}}},
			},
		},
	}
}

func (p *place) makeDeployments(n int, of func(i int) *appsv1.Deployment) {
	p.Helper()
	p.make(n, func(ctx context.Context, i int) error {
		_, err := p.Admin.AppsV1().Deployments(p.ns.Name).Create(ctx, of(i), metav1.CreateOptions{})
		return err
	})
}

func (p *place) makeConfigMap(name string, data map[string]string) {
	p.Helper()
	_, err := p.Admin.CoreV1().ConfigMaps(p.ns.Name).Create(p.ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{})
	p.must(err)
}

// awaitRequests returns when the controller has made so many.
func (p *place) awaitRequests(verb, resource string, wanted int) {
	p.Helper()
	p.must(harness.Await(p.ctx, fmt.Sprintf("%d times %s %s", wanted, verb, resource), func(context.Context) error {
		if got := p.requested(verb, resource); got < wanted {
			return fmt.Errorf("it is %d yet", got)
		}
		return nil
	}))
}

func TestALimitOfRequestsIsKept(t *testing.T) {
	p := install(t)
	const (
		workloads = 300
		qps       = 20
	)
	p.makeConfigMap("app", map[string]string{"colour": "green"})
	p.makeDeployments(workloads, func(i int) *appsv1.Deployment { return optedIn(fmt.Sprintf("app-%d", i), "app") })

	// How long it takes is measured from the outside and longer than it really was, so the most
	// that is allowed only grows on a slow machine.
	began := time.Now()
	p.start("--adopt-rate=1000", fmt.Sprintf("--kube-api-qps=%d", qps), "--kube-api-burst=1")
	p.awaitRequests("patch", "deployments", workloads)
	// More come while they are read.
	requests := p.requests()
	made, took := 0, time.Since(began)
	for _, r := range requests {
		if r.ObjectRef.Resource != "leases" {
			made++
		}
	}
	if most := 1 + int(qps*took.Seconds()); made > most {
		t.Errorf("%d requests in %s, which is more than %d", made, took, most)
	}
}
