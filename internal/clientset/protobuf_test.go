package clientset

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	restwatch "k8s.io/client-go/rest/watch"
)

func protobufOf(tb testing.TB, codecs kruntime.NegotiatedSerializer) kruntime.SerializerInfo {
	tb.Helper()
	info, ok := kruntime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), kruntime.ContentTypeProtobuf)
	if !ok {
		tb.Fatal("no protobuf")
	}
	return info
}

// both are the decoders of apimachinery and ours.
func both(tb testing.TB) (theirs, ours kruntime.SerializerInfo) {
	tb.Helper()
	plain := Codecs.WithoutConversion()
	return protobufOf(tb, plain), protobufOf(tb, decodeInPlace(plain, Scheme))
}

func samples() map[schema.GroupVersion][]kruntime.Object {
	meta := metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "6f1c", ResourceVersion: "12345", Labels: map[string]string{"app": "shop"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:data":{}}`)}},
	}
	return map[schema.GroupVersion][]kruntime.Object{
		corev1.SchemeGroupVersion: {
			&corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"a": []byte("1"), "empty": {}}},
			&corev1.Secret{},
			&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"a": "1"}, BinaryData: map[string][]byte{"b": {0, 255}}},
			&corev1.SecretList{ListMeta: metav1.ListMeta{Continue: "next"}, Items: []corev1.Secret{{ObjectMeta: meta}, {}}},
			&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: 410},
		},
		appsv1.SchemeGroupVersion: {
			&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: meta.Labels}}},
		},
	}
}

func encode(tb testing.TB, version schema.GroupVersion, obj kruntime.Object) []byte {
	tb.Helper()
	theirs, _ := both(tb)
	data, err := kruntime.Encode(Codecs.EncoderForVersion(theirs.Serializer, version), obj)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func event(tb testing.TB, kind watch.EventType, data []byte) []byte {
	tb.Helper()
	event := metav1.WatchEvent{Type: string(kind), Object: kruntime.RawExtension{Raw: data}}
	frame, err := event.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	return frame
}

type decoded struct {
	Object kruntime.Object
	Kind   *schema.GroupVersionKind
	Err    string
}

func decode(d kruntime.Decoder, data []byte, into kruntime.Object) decoded {
	obj, kind, err := d.Decode(bytes.Clone(data), nil, into)
	result := decoded{Object: obj, Kind: kind}
	if err != nil {
		result.Err = err.Error()
	}
	return result
}

// checkObject compares the results of both decoders for an object, into nothing and into several
// types.
func checkObject(t *testing.T, data []byte) {
	t.Helper()
	theirs, ours := both(t)
	for _, into := range []func() kruntime.Object{
		func() kruntime.Object { return nil },
		func() kruntime.Object { return &corev1.Secret{Type: "before"} },
		func() kruntime.Object { return &corev1.SecretList{} },
		func() kruntime.Object { return &kruntime.Unknown{} },
		func() kruntime.Object { return &appsv1.Deployment{} },
	} {
		want, got := decode(theirs.Serializer, data, into()), decode(ours.Serializer, data, into())
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("into %T (-want +got):\n%s", into(), diff)
		}
	}
}

// checkEvent compares them for an event of a watch.
func checkEvent(t *testing.T, data []byte) {
	t.Helper()
	theirs, ours := both(t)
	for _, into := range []func() kruntime.Object{
		func() kruntime.Object {
			return &metav1.WatchEvent{Type: "before", Object: kruntime.RawExtension{Raw: []byte("before")}}
		},
		func() kruntime.Object { return &corev1.Secret{} },
		func() kruntime.Object { return nil },
	} {
		want, got := decode(theirs.StreamSerializer.Serializer, data, into()), decode(ours.StreamSerializer.Serializer, data, into())
		if into() == nil { // the error prints the address of the decoder
			want.Err, got.Err = strings.SplitN(want.Err, ":", 2)[0], strings.SplitN(got.Err, ":", 2)[0]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("into %T (-want +got):\n%s", into(), diff)
		}
	}
}

// FuzzProtobuf decodes bytes as an object and as an event. The results and the errors are those of
// apimachinery.
func FuzzProtobuf(f *testing.F) {
	for version, objects := range samples() {
		for _, obj := range objects {
			data := encode(f, version, obj)
			frame := event(f, watch.Added, data)
			f.Add(data)
			f.Add(frame)
			f.Add(data[:len(data)/2])
			f.Add(frame[:len(frame)/2])
			f.Add(append(bytes.Clone(data), data[len(prefix):]...)) // each field twice
			f.Add(append(bytes.Clone(frame), frame...))
			f.Add(append(bytes.Clone(data), 0x1a, 1, 'x'))  // with a content encoding
			f.Add(append(bytes.Clone(frame), 0x7a, 1, 'x')) // with an unknown field
		}
	}
	f.Add(event(f, "", encode(f, corev1.SchemeGroupVersion, &corev1.Secret{})))
	f.Add(event(f, watch.Bookmark, nil))
	f.Add([]byte(prefix))
	f.Add([]byte(nil))
	f.Add(encode(f, corev1.SchemeGroupVersion, &corev1.Secret{})[:len(prefix)+2])
	unknown, err := (&kruntime.Unknown{TypeMeta: kruntime.TypeMeta{APIVersion: "example.com/v1", Kind: "Thing"}, Raw: []byte("x")}).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append([]byte(prefix), unknown...))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkObject(t, data)
		checkObject(t, append([]byte(prefix), data...))
		checkEvent(t, data)
	})
}

// TestEachByteOfAMessageDecodesAsInApimachinery changes and removes each byte.
func TestEachByteOfAMessageDecodesAsInApimachinery(t *testing.T) {
	for version, objects := range samples() {
		for _, obj := range objects {
			data := encode(t, version, obj)
			for i := range data {
				for _, other := range []byte{0, 1, 0x80, 0xff, data[i] + 1} {
					broken := bytes.Clone(data)
					broken[i] = other
					checkObject(t, broken)
					checkEvent(t, event(t, watch.Added, broken))
				}
				checkObject(t, data[:i])
			}
			frame := event(t, watch.Modified, data)
			for i := range min(len(frame), 64) {
				broken := bytes.Clone(frame)
				broken[i]++
				checkEvent(t, broken)
				checkEvent(t, frame[:i])
			}
		}
	}
}

// decodeFrames decodes the events of a stream as a client does. Each event is read into the same
// memory.
func decodeFrames(tb testing.TB, info kruntime.SerializerInfo, frames ...[]byte) (objects []kruntime.Object) {
	tb.Helper()
	var stream bytes.Buffer
	to := info.StreamSerializer.NewFrameWriter(&stream)
	for _, frame := range frames {
		if _, err := to.Write(frame); err != nil {
			tb.Fatal(err)
		}
	}
	from := streaming.NewDecoder(info.StreamSerializer.NewFrameReader(io.NopCloser(&stream)), info.StreamSerializer.Serializer)
	decoder := restwatch.NewDecoder(from, Codecs.WithoutConversion().DecoderToVersion(info.Serializer, nil))
	for {
		_, obj, err := decoder.Decode()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			tb.Fatal(err)
		}
		objects = append(objects, obj)
	}
}

func TestAnObjectOutlivesTheBufferOfItsEvent(t *testing.T) {
	theirs, ours := both(t)
	var frames [][]byte
	for version, objects := range samples() {
		for _, obj := range objects {
			frames = append(frames, event(t, watch.Added, encode(t, version, obj)))
		}
	}
	want, got := decodeFrames(t, theirs, frames...), decodeFrames(t, ours, frames...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The decoders of apimachinery copy them three times.
func TestAWatchCopiesTheBytesOfAnObjectOnce(t *testing.T) {
	const size = 4 << 20
	var sent bytes.Buffer
	theirs, _ := both(t)
	frame := event(t, watch.Added, encode(t, corev1.SchemeGroupVersion, &corev1.Secret{Data: map[string][]byte{"large": make([]byte, size)}}))
	if _, err := theirs.StreamSerializer.NewFrameWriter(&sent).Write(frame); err != nil {
		t.Fatal(err)
	}
	again := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kruntime.ContentTypeProtobuf+";stream=watch")
		for range 2 {
			_, _ = w.Write(sent.Bytes())
			w.(http.Flusher).Flush()
			<-again
		}
	}))
	defer server.Close()
	client, err := NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{AcceptContentTypes: kruntime.ContentTypeProtobuf}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := client.Group(corev1.GroupName).Get().Resource("secrets").Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	<-w.ResultChan() // the buffer for events has grown
	defer close(again)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	again <- struct{}{}
	second := <-w.ResultChan()
	runtime.ReadMemStats(&after)
	if secret, ok := second.Object.(*corev1.Secret); !ok || len(secret.Data["large"]) != size {
		t.Fatalf("the event has a %T", second.Object)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > size*3/2 {
		t.Errorf("an event of %d KiB: %d KiB allocated", size>>10, used>>10)
	}
}
