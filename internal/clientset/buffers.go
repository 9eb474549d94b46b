package clientset

import (
	"net/http"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// receiveBuffer bounds what the API server may send of one response before it is read. By default
// this is 4 MiB. At a start, all watches send their objects at once, and faster than they are
// hashed, so their buffers would be full. A smaller buffer slows down nothing unless the API server
// is far away: at a round-trip time of 5 ms, 100 MB/s still fit.
const receiveBuffer = 512 << 10

// bounding makes clients of one configuration that are created at the same time wait for each
// other.
var bounding sync.Mutex //nolint:gochecknoglobals // so is the cache of client-go that has the transports

// boundBuffers sets the size of the buffers of a new transport. A transport is shared by all
// clients of one configuration, so a second client finds the size set, and does not write it during
// the requests of the first.
func boundBuffers(transport http.RoundTripper) http.RoundTripper {
	bounding.Lock()
	defer bounding.Unlock()
	for inner := transport; inner != nil; {
		switch t := inner.(type) {
		case *http.Transport:
			if t != http.DefaultTransport && t.HTTP2 == nil {
				t.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: receiveBuffer}
			}
			return transport
		case utilnet.RoundTripperWrapper:
			inner = t.WrappedRoundTripper()
		default:
			return transport
		}
	}
	return transport
}
