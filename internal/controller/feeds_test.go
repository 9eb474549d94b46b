package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// arrivals records the reports about received objects.
type arrivals struct {
	noReport
	told []string
}

func (a *arrivals) Seen(event, resource string) { a.told = append(a.told, event+" "+resource) }

func (a *arrivals) Processed(event, resource string) {
	a.told = append(a.told, event+" "+resource+" taken in")
}

// Dashboards that were made for Reloader ask for these words.
func TestEventTypesHaveTheNamesOfReloader(t *testing.T) {
	var a arrivals
	s := &handler{
		resource: "configmaps", counter: &a,
		put: func(runtime.Object, bool) { a.told = append(a.told, "put") },
		del: func(types.NamespacedName, string) { a.told = append(a.told, "gone") },
	}
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	s.Put(watch.Added, obj, false)
	s.Put(watch.Added, obj, true)
	s.Put(watch.Modified, obj, true)
	s.Delete(obj)
	want := []string{
		"add configmaps", "put", "add configmaps taken in",
		"add configmaps", "put", "add configmaps taken in",
		"update configmaps", "put", "update configmaps taken in",
		"delete configmaps", "gone", "delete configmaps taken in",
	}
	if diff := cmp.Diff(want, a.told); diff != "" {
		t.Error(diff)
	}
}
