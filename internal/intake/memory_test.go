package intake

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"runtime"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest/watch"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/test/cluster"
)

const secretSize = 20 << 10

// testMemory streams Secrets and measures what is held meanwhile. A client that gathers them first
// holds all of them.
func testMemory(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	const n = 2000
	secrets := newSecrets(t, c)
	value := make([]byte, secretSize)
	_, _ = rand.Read(value)
	secrets.fill(t, n, value)
	config := c.Config()
	config.ContentConfig = protobuf()
	client, err := kubernetes.NewForConfig(config)
	must(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	s := &scale{t: t, done: cancel, base: held()}
	(&Feed{Open: secretsIn(client, secrets.namespace), Handler: s, Clock: clock.RealClock{}, Failed: func(err error) { t.Error(err) }}).Run(ctx)
	if s.objects != n {
		t.Fatalf("%d Secrets arrived, want %d", s.objects, n)
	}
	const sum = n * secretSize
	t.Logf("at most %d KiB were held at a time, of %d KiB that came", s.most>>10, sum>>10)
	if s.most > sum/4 {
		t.Errorf("%d KiB were held at a time: the objects seem to be gathered", s.most>>10)
	}
}

// scale is a Handler that hashes what it gets and weighs the heap now and then.
type scale struct {
	t       *testing.T
	done    func()
	base    uint64
	most    uint64
	objects int
}

func (s *scale) Put(_ apiwatch.EventType, obj kruntime.Object, _ bool) {
	sha256.Sum256(obj.(*corev1.Secret).Data["value"])
	if s.objects++; s.objects%100 == 0 {
		now := held()
		s.most = max(s.most, now-min(s.base, now))
	}
}

func (s *scale) Delete(kruntime.Object) { s.t.Error("nothing was deleted") }

func (s *scale) SnapshotComplete(map[types.NamespacedName]struct{}, string) { s.done() }

// held is what the heap holds when all garbage is gone.
func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkSecret is what one Secret of the initial state costs: read off the watch, hashed,
// forgotten.
func BenchmarkSecret(b *testing.B) {
	random := make([]byte, secretSize)
	_, _ = rand.Read(random)
	key, err := digest.NewKey(random)
	if err != nil {
		b.Fatal(err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "database", UID: "6f1c", ResourceVersion: "12345", Labels: map[string]string{"app": "shop"}},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{"user": random[:32], "password": random[32:64], "bundle": random[64:]},
	}
	next, size := events(b, corev1.SchemeGroupVersion, secret)
	names := annotations.DefaultNames()
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		source.FromSecret(next().(*corev1.Secret), key, names)
	}
}

// BenchmarkDeployment is what it costs to decode an event of a workload, of which several follow
// each rollout.
func BenchmarkDeployment(b *testing.B) {
	container := corev1.Container{Name: "app", Image: "example.com/app:1", EnvFrom: []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web"}}},
	}}
	labels := map[string]string{"app": "web"}
	next, size := events(b, appsv1.SchemeGroupVersion, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "6f1c", ResourceVersion: "12345", Annotations: map[string]string{"reloader.stakater.com/auto": "true"}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}}},
		},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 1, AvailableReplicas: 3},
	})
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := next().(*appsv1.Deployment); !ok {
			b.Fatal("no Deployment came")
		}
	}
}

// events returns what decodes the same event of a watch again and again, and how many bytes it is.
func events(b *testing.B, version schema.GroupVersion, obj kruntime.Object) (next func() kruntime.Object, size int64) {
	b.Helper()
	info, ok := kruntime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), kruntime.ContentTypeProtobuf)
	if !ok {
		b.Fatal("no protobuf")
	}
	frame := frameOf(b, info, version, obj)
	frames := info.StreamSerializer.NewFrameReader(io.NopCloser(&repeated{frame: frame}))
	decoder := watch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), scheme.Codecs.UniversalDeserializer())
	return func() kruntime.Object {
		_, obj, err := decoder.Decode()
		if err != nil {
			b.Fatal(err)
		}
		return obj
	}, int64(len(frame))
}

// frameOf is an event as the API server sends it.
func frameOf(b *testing.B, info kruntime.SerializerInfo, version schema.GroupVersion, obj kruntime.Object) []byte {
	b.Helper()
	raw, err := kruntime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, version), obj)
	if err != nil {
		b.Fatal(err)
	}
	var frame bytes.Buffer
	event := &metav1.WatchEvent{Type: "ADDED", Object: kruntime.RawExtension{Raw: raw}}
	if err := info.StreamSerializer.Encode(event, info.StreamSerializer.NewFrameWriter(&frame)); err != nil {
		b.Fatal(err)
	}
	return frame.Bytes()
}

// repeated is the same frame for ever.
type repeated struct {
	frame []byte
	at    int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.frame[r.at:])
	r.at = (r.at + n) % len(r.frame)
	return n, nil
}
