package intake

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// proxy is between a feed and an API server. It can break connections, change requests, and forward
// to another server.
type proxy struct {
	server  *httptest.Server
	refused chan struct{} // holds one when a request came while connections are broken

	mu      sync.Mutex
	backend http.Handler
	down    bool
	asked   []url.Values
	forgets bool     // the next watch is refused
	asks    []string // the versions that the next streams are asked for with
}

func newProxy(t *testing.T, to *rest.Config) *proxy {
	t.Helper()
	p := &proxy{refused: make(chan struct{}, 1)}
	p.lead(t, to)
	p.server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.server.CloseClientConnections()
		p.server.Close()
	})
	return p
}

// lead passes the requests to come on to a server.
func (p *proxy) lead(t *testing.T, to *rest.Config) {
	t.Helper()
	transport, err := rest.TransportFor(to)
	must(t, err)
	host, err := url.Parse(to.Host)
	must(t, err)
	backend := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(host) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { hangUp(w) },
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backend = backend
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler(r)(w, r) }

func (p *proxy) handler(r *http.Request) http.HandlerFunc {
	p.mu.Lock()
	defer p.mu.Unlock()
	query := r.URL.Query()
	streams := query.Has("sendInitialEvents")
	handle := p.backend.ServeHTTP
	switch {
	case p.down:
		handle = func(w http.ResponseWriter, _ *http.Request) { hangUp(w) }
		select {
		case p.refused <- struct{}{}:
		default:
		}
	case p.forgets && query.Has("watch") && !streams:
		p.forgets = false
		handle = func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "too old resource version", http.StatusGone)
		}
	default:
		p.asked = append(p.asked, r.URL.Query())
	}
	if streams && len(p.asks) > 0 && !p.down {
		query.Set("resourceVersion", p.asks[0])
		p.asks = p.asks[1:]
		r.URL.RawQuery = query.Encode()
	}
	return handle
}

func hangUp(w http.ResponseWriter) {
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// cut breaks all connections, and those to come.
func (p *proxy) cut() {
	p.mu.Lock()
	p.down = true
	p.mu.Unlock()
	p.server.CloseClientConnections()
}

// pass lets requests through again, once one was refused.
func (p *proxy) pass(t *testing.T) {
	t.Helper()
	select {
	case <-p.refused:
	case <-time.After(limit):
		t.Fatal("nobody came while the connection was broken")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

// forget has the next watch refused, and the streams after it ask for other versions.
func (p *proxy) forget(asks ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgets, p.asks = true, asks
}

// streams are the versions in the requests for snapshots.
func (p *proxy) streams() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var versions []string
	for _, q := range p.asked {
		if q.Has("sendInitialEvents") {
			versions = append(versions, q.Get("resourceVersion"))
		}
	}
	return versions
}

// pages counts the lists, without those that only ask for the newest version.
func (p *proxy) pages() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, q := range p.asked {
		if !q.Has("watch") && q.Get("limit") != "1" {
			n++
		}
	}
	return n
}

// secrets are those of a namespace, through the proxy.
func (p *proxy) secrets(t *testing.T, namespace string) Resource {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: p.server.URL, QPS: -1, ContentConfig: protobuf()})
	must(t, err)
	return secretsIn(client, namespace)
}

func protobuf() rest.ContentConfig {
	return rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
