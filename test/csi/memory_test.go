package csi_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/test/simapi"
)

// inMemory is the driver in memory.
type inMemory struct {
	*testing.T
	server *simapi.Server
	driver *simapi.Driver
}

func newInMemory(t *testing.T) *inMemory {
	server := simapi.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	return &inMemory{t, server, simapi.NewDriver(simapi.NewPods(server, 0))}
}

func (m *inMemory) store(versions map[string]string) {
	for id, version := range versions {
		m.driver.Store(class, id, version)
	}
}

func (m *inMemory) mounts(ids ...string) {
	_, err := m.server.Get(simapi.ClassResource, named(class))
	switch {
	case len(ids) == 0:
		must(m.T, m.server.Delete(simapi.ClassResource, named(class)))
	case err != nil:
		_, err = m.server.Create(simapi.NewClass(namespace, class, ids), "helm")
		must(m.T, err)
	default:
		_, err = m.server.Edit(simapi.ClassResource, named(class), "helm", func(obj simapi.Object) { simapi.SetIDs(obj, ids) })
		must(m.T, err)
	}
}

func (m *inMemory) starts(pod string) *corev1.Pod {
	_ = m.server.Delete("pods", named(pod)) // there may be none
	obj, err := m.server.Create(podOf(pod), "kube-controller-manager")
	must(m.T, err)
	return obj.(*corev1.Pod)
}

func (m *inMemory) deletes(pod string) {
	must(m.T, m.server.Delete("pods", named(pod)))
	for m.driver.Clean() {
	}
}

func (m *inMemory) looks(pod *corev1.Pod) {
	for m.driver.Step(pod) {
	}
}

func (m *inMemory) status(pod *corev1.Pod) *unstructured.Unstructured {
	obj, err := m.server.Get(simapi.StatusResource, named(simapi.StatusName(pod, class)))
	if err != nil {
		return nil
	}
	return obj.(*unstructured.Unstructured)
}

func (m *inMemory) wait() { m.server.Advance(2 * time.Second) }
