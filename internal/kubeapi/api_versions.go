package kubeapi

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/internal/intake"
)

// versioned lists and watches a kind in the first version that the API server serves. Each request
// begins with the newest, because the API server may have been upgraded since the previous one.
// Versions of a kind share their resource versions.
type versioned []intake.Opener

// Versions are all versions in which the API server may serve it, the newest first.
func (w Watched) Versions() []schema.GroupVersionResource {
	all := []schema.GroupVersionResource{w.Resource}
	for _, older := range w.Older {
		all = append(all, w.Resource.GroupResource().WithVersion(older))
	}
	return all
}

func inVersions(w Watched, c Client) versioned {
	var all versioned
	for _, version := range w.Versions() {
		one := w
		one.Resource, one.Older = version, nil
		all = append(all, served{one, c})
	}
	return all
}

// Watch opens a watch.
func (v versioned) Watch(ctx context.Context, opts metav1.ListOptions) (w watch.Interface, err error) {
	for _, version := range v {
		if w, err = version.Watch(ctx, opts); !apierrors.IsNotFound(err) {
			break
		}
	}
	return w, err
}

// List reads one page.
func (v versioned) List(ctx context.Context, opts metav1.ListOptions) (list runtime.Object, err error) {
	for _, version := range v {
		if list, err = version.List(ctx, opts); !apierrors.IsNotFound(err) {
			break
		}
	}
	return list, err
}
