package lease

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// account is the ServiceAccount of the shipped manifest.
const account = "reroll"

// proxy stands between one instance and the API server. It has the permissions of the controller's
// account, notes what is asked, and can hold requests or answer that the server is away.
type proxy struct {
	order *order

	mu      sync.Mutex
	hold    func(*http.Request) <-chan struct{} // a request is passed on when the channel is closed; nil lets all through
	away    func(*http.Request) bool
	seen    []*request
	watches int
}

// request is one that an instance has made, with its place among those of all instances.
type request struct {
	method, path string
	begun, ended int
	code         int
}

// order numbers what happens.
type order struct {
	mu   sync.Mutex
	last int
}

func (o *order) next() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last++
	return o.last
}

// proxy starts one and returns it with a kubeconfig that leads to it.
func (i *installation) proxy() (*proxy, string) {
	i.Helper()
	path, err := shared.Cluster.ServiceAccountKubeconfig(i.ctx, i.ns.Name, account)
	i.must(err)
	config, err := clientcmd.BuildConfigFromFlags("", path)
	i.must(err)
	upstream, err := url.Parse(config.Host)
	i.must(err)
	transport, err := rest.TransportFor(config)
	i.must(err)
	p := &proxy{order: &i.order}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport:     transport,
		FlushInterval: -1,                         // watches are streams
		ErrorLog:      log.New(io.Discard, "", 0), // of requests that an instance has given up
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(forward, w, r) }))
	// Not closed: that waits for watches, whose instances are killed only after this. It ends with
	// the process.

	const name = "proxy"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{Server: server.URL}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, Namespace: i.ns.Name}
	kubeconfig.CurrentContext = name
	file := i.kubeconfigFile("proxy.kubeconfig")
	i.must(clientcmd.WriteToFile(*kubeconfig, file))
	return p, file
}

func (p *proxy) serve(forward http.Handler, w http.ResponseWriter, r *http.Request) {
	req := &request{method: r.Method, path: r.URL.Path, begun: p.order.next()}
	watch := r.URL.Query().Has("watch")
	p.mu.Lock()
	p.seen = append(p.seen, req)
	away := p.away != nil && p.away(r)
	var free <-chan struct{}
	if p.hold != nil {
		free = p.hold(r)
	}
	if watch {
		p.watches++
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if watch {
			p.watches--
		}
		if req.ended == 0 {
			req.ended = p.order.next()
		}
	}()
	if free != nil {
		<-free
	}
	if away {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	forward.ServeHTTP(&answer{ResponseWriter: w, came: func(code int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if req.code = code; !watch {
			// Not after it was passed on: whoever asked may have asked for the next thing by then.
			req.ended = p.order.next()
		}
	}}, r)
}

// answer tells the code before anybody else hears of it.
type answer struct {
	http.ResponseWriter
	came func(code int)
}

func (a *answer) WriteHeader(code int) {
	a.came(code)
	a.ResponseWriter.WriteHeader(code)
}

// Unwrap lets a stream be flushed.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// set changes what the proxy does with requests that begin from now on.
func (p *proxy) set(change func(*proxy)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// requests returns those that were made so far and that match.
func (p *proxy) requests(match func(*request) bool) []request {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []request
	for _, r := range p.seen {
		if match(r) {
			found = append(found, *r)
		}
	}
	slices.SortFunc(found, func(a, b request) int { return a.begun - b.begun })
	return found
}

// watching is how many watches are open.
func (p *proxy) watching() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.watches
}

func aboutLease(r *request) bool { return strings.Contains(r.path, "/leases") }

func aboutReload(r *request) bool {
	return r.method == http.MethodPatch && strings.Contains(r.path, "/deployments/")
}
