package faults

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// order is what is to happen to a watch.
type order string

const (
	noOrder     order = ""
	endWatch    order = "watch ended"
	expireWatch order = "watch expired (410)"
	cutWatch    order = "watch cut within an event"
	killInEvent order = "killed within an event of a watch"
)

// stream is an open watch.
type stream struct {
	*exchange
	resource string
	orders   chan order
	// next is what happens instead of the next event.
	next order
}

// stream passes a watch on, event by event.
func (x *exchange) stream() {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	resp, err := x.send(ctx) //nolint:bodyclose // it is closed, by the defer below
	if err != nil {
		x.hangUp()
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		x.answer(resp)
		return
	}
	s := &stream{exchange: x, resource: resourceOf(x.r), orders: make(chan order, 8), next: x.order}
	x.mu.Lock()
	x.streams = append(x.streams, s)
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.streams = slices.DeleteFunc(x.streams, func(other *stream) bool { return other == s })
	}()
	maps.Copy(x.w.Header(), resp.Header)
	x.w.WriteHeader(resp.StatusCode)
	s.flush()
	events := make(chan []byte)
	go func() {
		defer close(events)
		for {
			event, err := readEvent(resp.Body)
			if err != nil {
				return
			}
			select {
			case events <- event:
			case <-ctx.Done():
				return
			}
		}
	}()
	s.run(events)
}

func (s *stream) run(events <-chan []byte) {
	for {
		select {
		case <-s.r.Context().Done():
			return
		case o := <-s.orders:
			switch o {
			case endWatch:
				s.strike(string(o))
				return
			case expireWatch:
				s.strike(string(o))
				s.write(expired())
				return
			default:
				s.next = o
			}
		case event, ok := <-events:
			if !ok {
				return
			}
			if s.holds {
				// The API server has taken the snapshot by now; the world goes on.
				s.holds = false
				s.hold()
			}
			if s.next != noOrder {
				s.cutWithin(event)
			}
			s.write(event)
		}
	}
}

// hold waits until it is released.
func (s *stream) hold() {
	free, _ := s.held()
	select {
	case s.caught <- struct{}{}:
	default:
	}
	select {
	case <-free:
	case <-s.r.Context().Done():
	}
}

// cutWithin passes half of an event on and breaks the connection.
func (s *stream) cutWithin(event []byte) {
	s.write(event[:len(event)/2])
	s.strike(string(s.next))
	if s.next == killInEvent {
		s.kill()
	}
	panic(http.ErrAbortHandler) // what net/http has for this: nothing more is written, the end of the stream included
}

func (s *stream) write(b []byte) {
	_, _ = s.w.Write(b) // who does not read it is gone, which the context tells
	s.flush()
}

func (s *stream) flush() { _ = http.NewResponseController(s.w).Flush() }

// calm takes an order back that has not struck. The caller holds the lock of the proxy.
func (s *stream) calm() {
	select {
	case s.orders <- noOrder:
	default:
	}
}

// disturb gives an order to the newest watch of a resource.
func (p *proxy) disturb(resource string, o order) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range slices.Backward(p.streams) {
		if s.resource == resource {
			select {
			case s.orders <- o:
				return
			default:
			}
		}
	}
}

// readEvent reads one event as it stands on the wire: its length in four bytes, and as many bytes.
func readEvent(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	const longest = 16 << 20
	n := binary.BigEndian.Uint32(size[:])
	if n > longest {
		return nil, errors.New("this is no stream of protobuf events")
	}
	event := make([]byte, 4+n)
	copy(event, size[:])
	_, err := io.ReadFull(r, event[4:])
	return event, err
}

// expired is the event by which the API server says that a version is out of its reach.
func expired() []byte {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	status := apierrors.NewResourceExpired("the proxy says that this version is too old").Status()
	object, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, schema.GroupVersion{Version: "v1"}), &status)
	if err != nil {
		panic(err) // a status can be encoded
	}
	event := metav1.WatchEvent{Type: string(watch.Error), Object: runtime.RawExtension{Raw: object}}
	raw, err := event.Marshal()
	if err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...)
}
