package inspect

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// ReadOnly makes a configuration refuse each request that could write, before it is sent.
func ReadOnly(c *rest.Config) {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnly{next} })
}

type readOnly struct{ next http.RoundTripper }

// RoundTrip sends requests that read.
func (r readOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return nil, fmt.Errorf("%s %s: this command writes nothing", req.Method, req.URL.Path)
	}
	return r.next.RoundTrip(req)
}

// WrappedRoundTripper returns the transport.
func (r readOnly) WrappedRoundTripper() http.RoundTripper { return r.next }
