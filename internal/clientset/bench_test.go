package clientset

import (
	"bytes"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"
)

// BenchmarkDecode decodes the event of a Secret of 20 KiB, as apimachinery does and in place.
func BenchmarkDecode(b *testing.B) {
	theirs, ours := both(b)
	frame := event(b, watch.Added, encode(b, corev1.SchemeGroupVersion, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "6f1c", ResourceVersion: "12345"},
		Data:       map[string][]byte{"value": make([]byte, 20<<10)},
	}))
	var framed bytes.Buffer
	if _, err := theirs.StreamSerializer.NewFrameWriter(&framed).Write(frame); err != nil {
		b.Fatal(err)
	}
	for about, info := range map[string]runtime.SerializerInfo{"apimachinery": theirs, "in place": ours} {
		b.Run(about, func(b *testing.B) {
			frames := info.StreamSerializer.NewFrameReader(io.NopCloser(&repeated{frame: framed.Bytes()}))
			decoder := restwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), info.Serializer)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := decoder.Decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
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
