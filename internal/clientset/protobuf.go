package clientset

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// inPlace is a NegotiatedSerializer that decodes protobuf without copies of the encoded object. The
// decoders of apimachinery copy the bytes of each object twice before they decode them: out of the
// event of a watch, and out of the envelope that names the type. In a cluster with many large
// Secrets, these copies were half of the garbage of a start.
type inPlace struct {
	runtime.NegotiatedSerializer
	infos []runtime.SerializerInfo
}

func decodeInPlace(codecs runtime.NegotiatedSerializer, scheme *runtime.Scheme) runtime.NegotiatedSerializer {
	in := inPlace{NegotiatedSerializer: codecs}
	for _, info := range codecs.SupportedMediaTypes() {
		if info.MediaType == runtime.ContentTypeProtobuf {
			info.Serializer = envelopes{info.Serializer, scheme, protobuf.NewRawSerializer(scheme, scheme)}
			stream := *info.StreamSerializer
			stream.Serializer = events{stream.Serializer}
			info.StreamSerializer = &stream
		}
		in.infos = append(in.infos, info)
	}
	return in
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (in inPlace) SupportedMediaTypes() []runtime.SerializerInfo { return in.infos }

// envelopes decodes objects in the envelope that names their type.
type envelopes struct {
	runtime.Serializer
	scheme *runtime.Scheme
	body   runtime.Decoder
}

// prefix begins each envelope.
const prefix = "k8s\x00"

// Decode implements runtime.Decoder. The object shares no memory with the data. The decoder of
// apimachinery decodes everything unusual, so the errors are the errors of apimachinery.
func (e envelopes) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	envelope, found := bytes.CutPrefix(data, []byte(prefix))
	const raw = 2 // the number of its field in runtime.Unknown
	rest, body, cut := cutField(envelope, raw)
	_, unknown := into.(*runtime.Unknown)
	var named runtime.Unknown
	if !found || !cut || unknown || len(body) == 0 || named.Unmarshal(rest) != nil {
		return e.Serializer.Decode(data, defaults, into)
	}
	kind := named.GroupVersionKind()
	if into == nil {
		var err error
		if into, err = e.scheme.New(kind); err != nil {
			return e.Serializer.Decode(data, defaults, nil)
		}
	}
	return e.body.Decode(body, &kind, into)
}

// events decodes events of a watch.
type events struct{ runtime.Serializer }

// Decode implements runtime.Decoder. The bytes of the object are those of the data, so they are
// only valid until the next event is read. The client decodes the object before that.
func (e events) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	const (
		object = 2 // the number of its field in metav1.WatchEvent
		raw    = 1 // in runtime.RawExtension
	)
	event, is := into.(*metav1.WatchEvent)
	rest, extension, cut := cutField(data, object)
	others, body, nested := cutField(extension, raw)
	if !is || !cut || !nested || len(others) > 0 || len(rest) == 0 {
		return e.Serializer.Decode(data, defaults, into)
	}
	decoded, kind, err := e.Serializer.Decode(rest, defaults, into)
	if err == nil {
		event.Object.Raw = body
	}
	return decoded, kind, err
}

// cutField returns the value of a field, and a copy of the rest of the message. It returns false if
// the message is invalid, or does not have the field exactly once with bytes.
func cutField(message []byte, field protowire.Number) (rest, value []byte, ok bool) {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return nil, nil, false
		}
		size := protowire.ConsumeFieldValue(number, kind, message[tag:])
		switch {
		case size < 0, number == field && (ok || kind != protowire.BytesType):
			return nil, nil, false
		case number == field:
			value, _ = protowire.ConsumeBytes(message[tag:])
			ok = true
		default:
			rest = append(rest, message[:tag+size]...)
		}
		message = message[tag+size:]
	}
	return rest, value, ok
}
