//go:build linux

package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/inspect"
)

// The size of a large cluster.
const (
	manyWorkloads  = 20_000
	manySources    = 50_000
	manyNamespaces = 200
)

func numberedSource(i int, value, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("team-%d", i%manyNamespaces), Name: fmt.Sprintf("settings-%d", i), UID: types.UID(fmt.Sprint("s", i)), ResourceVersion: version},
		Data:       map[string]string{"key": value},
	}
}

func numberedWorkload(i int) *appsv1.Deployment {
	env := []corev1.EnvFromSource{}
	for j := range 3 {
		env = append(env, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprintf("settings-%d", (i+j*manyNamespaces)%manySources)}}})
	}
	replicas := int32(2)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%d", i%manyNamespaces), Name: fmt.Sprintf("web-%d", i), UID: types.UID(fmt.Sprint("w", i)), ResourceVersion: "1",
			Annotations: map[string]string{"reloader.stakater.com/auto": "true"},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", EnvFrom: env}}}},
		},
		Status: appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2},
	}
}

// large returns a large cluster.
func large(tb testing.TB) (*inspect.View, *inspect.Objects) {
	tb.Helper()
	objects := inspect.NewFollowed(settings(tb))
	for i := range manySources {
		objects.Put(numberedSource(i, "1", "1"))
	}
	for i := range manyWorkloads {
		objects.Put(numberedWorkload(i))
	}
	view := inspect.NewView("", clock.RealClock{})
	view.Show(objects, nil)
	return view, objects
}

func handler(clusters ...Cluster) http.Handler {
	return New(clusters, func(*http.Request) (Reader, error) { return everything, nil }, Options{Clock: clock.RealClock{}})
}

func fetch(tb testing.TB, h http.Handler, path string) {
	tb.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	if w.Code != http.StatusOK {
		tb.Errorf("%s: %d %s", path, w.Code, w.Body)
	}
}

// largePaths are pages of a large cluster.
func largePaths() []string {
	return []string{"/", "/?q=settings-77", "/?state=waiting&page=3", "/map", "/map?ns=team-7", "/gates", "/controller", "/source?ns=team-7&kind=ConfigMap&name=settings-7", "/workload?ns=team-7&kind=Deployment&name=web-7"}
}

// edited is the source of an edit.
func edited(i int) *corev1.ConfigMap {
	return numberedSource(i%manySources, fmt.Sprint("v", i), fmt.Sprint(i+2))
}

func BenchmarkPages(b *testing.B) {
	var before, after runtime.MemStats
	view, objects := large(b)
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	view.Refresh(b.Context())
	b.Logf("all answers: %s for %d workloads", time.Since(start), len(view.Board().All))
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.Logf("summaries: %.1f MiB", float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/(1<<20))
	h := handler(view)
	for _, path := range largePaths() {
		b.Run("page "+path, func(b *testing.B) {
			b.ReportAllocs()
			defer processorTime(b)()
			for b.Loop() {
				fetch(b, h, path)
			}
		})
	}
	b.Run("update", func(b *testing.B) {
		defer processorTime(b)()
		for i := 0; b.Loop(); i++ {
			objects.Put(edited(i))
			view.Refresh(b.Context())
		}
	})
	b.Run("ten readers and an update", func(b *testing.B) {
		defer processorTime(b)()
		for i := 0; b.Loop(); i++ {
			objects.Put(edited(i + 1_000_000))
			view.Refresh(b.Context())
			var reading sync.WaitGroup
			for range 10 {
				reading.Go(func() { fetch(b, h, "/") })
			}
			reading.Wait()
		}
	})
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.Logf("after the readers: %.1f MiB more than without pages", float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/(1<<20))
	runtime.KeepAlive(objects)
	runtime.KeepAlive(view)
}

// processorTime reports the time of processors that the process has used until the returned function
// is called. Other programs on the machine change it little.
func processorTime(b *testing.B) (report func()) {
	b.Helper()
	began := used(b)
	return func() {
		b.ReportMetric(float64((used(b)-began).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
	}
}

func used(tb testing.TB) time.Duration {
	tb.Helper()
	var all syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &all); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(all.Utime.Nano() + all.Stime.Nano())
}
