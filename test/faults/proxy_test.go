package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kind is what a request is about.
type kind string

const (
	markPatch   kind = "mark"     // a PATCH that changes the pod template
	ledgerPatch kind = "ledger"   // one that does not
	podList     kind = "pods"     // asks how old the pods are
	snapshot    kind = "snapshot" // a watch that begins with what is there
	resumed     kind = "watch"    // a watch that goes on from a version
	eventWrite  kind = "event"
	leaseWrite  kind = "lease"
	runWrite    kind = "run" // a write about a Job or CronJob
	ordinary    kind = ""
)

// rule is a fault that waits for a request it fits.
type rule struct {
	fault string
	on    kind
	// about is the resource; empty for all.
	about string
	do    func(*exchange)
}

// proxy stands between the controllers of one history and the API server, and has the permissions
// of their account. It works on requests as a whole, and on the events of a watch without reading
// them.
type proxy struct {
	upstream  *url.URL
	transport http.RoundTripper
	server    *httptest.Server
	// struck is told of each fault and kill when it happens.
	struck func(fault string)
	kill   func()
	// life numbers the controllers that have been started.
	life func() int

	mu      sync.Mutex
	rules   []rule
	streams []*stream
	// gate is closed to let go on what is held back, and lateGate for patches whose sender does not
	// wait any more.
	gate, lateGate chan struct{}
	// caught has a value when a snapshot is being held back.
	caught chan struct{}
	// changed is closed and made anew when a fault has struck.
	changed chan struct{}
	// busy counts requests about workloads and pods that have not ended, those included that nobody
	// waits for any more.
	busy int
	// gaps counts snapshots: after one, what happened in between was not seen.
	gaps int
}

func newProxy(t *testing.T, kubeconfig string) *proxy {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	must(t, err)
	p := &proxy{gate: make(chan struct{}), lateGate: make(chan struct{}), caught: make(chan struct{}, 1), changed: make(chan struct{})}
	p.upstream, err = url.Parse(config.Host)
	must(t, err)
	p.transport, err = rest.TransportFor(config)
	must(t, err)
	p.server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.release()
		p.releaseLate()
		p.server.CloseClientConnections()
		p.server.Close()
	})
	return p
}

// kubeconfig leads to the proxy.
func (p *proxy) kubeconfig(t *testing.T, namespace string) string {
	t.Helper()
	const name = "proxy"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: p.server.URL}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, Namespace: namespace}
	config.CurrentContext = name
	file := filepath.Join(t.TempDir(), "proxy.kubeconfig")
	must(t, clientcmd.WriteToFile(*config, file))
	return file
}

// exchange is a request with its answer to be given.
type exchange struct {
	*proxy
	w    http.ResponseWriter
	r    *http.Request
	body []byte
	kind kind
	// from is which controller has sent it.
	from int
	// how a stream is disturbed from its beginning on
	holds bool
	order order
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // who asked is gone
	}
	x := &exchange{proxy: p, w: w, r: r, body: body, kind: kindOf(r, body), from: p.life()}
	switch x.kind {
	case markPatch, ledgerPatch, podList:
		p.count(&p.busy, 1)
		defer p.count(&p.busy, -1)
	case snapshot:
		p.count(&p.gaps, 1)
	}
	if rule, ok := p.take(x.kind, resourceOf(r)); ok {
		p.strike(rule.fault)
		rule.do(x)
		return
	}
	x.pass()
}

func kindOf(r *http.Request, body []byte) kind {
	query := r.URL.Query()
	switch {
	case query.Has("sendInitialEvents"):
		return snapshot
	case query.Has("watch"):
		return resumed
	case r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, "/apis/apps/"):
		var patch struct{ Spec json.RawMessage }
		if err := json.Unmarshal(body, &patch); err == nil && len(patch.Spec) > 0 {
			return markPatch
		}
		return ledgerPatch
	case r.Method != http.MethodGet && strings.HasPrefix(r.URL.Path, "/apis/batch/") && !query.Has("dryRun"):
		return runWrite
	case r.Method == http.MethodGet && path.Base(r.URL.Path) == "pods":
		return podList
	case r.Method == http.MethodPost && path.Base(r.URL.Path) == "events":
		return eventWrite
	case r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/leases/"):
		return leaseWrite
	default:
		return ordinary
	}
}

// resourceOf is the one in the path of a list or watch.
func resourceOf(r *http.Request) string { return path.Base(r.URL.Path) }

func (p *proxy) count(n *int, by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*n += by
}

// arm lets a fault wait for its request.
func (p *proxy) arm(r rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, r)
}

func (p *proxy) take(k kind, resource string) (rule, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.rules, func(r rule) bool { return r.on == k && (r.about == "" || r.about == resource) })
	if i < 0 {
		return rule{}, false
	}
	r := p.rules[i]
	p.rules = slices.Delete(p.rules, i, i+1)
	return r, true
}

func (p *proxy) strike(fault string) {
	p.struck(fault)
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
}

// calm takes back every fault that has not struck, and lets go on what somebody waits for.
func (p *proxy) calm() {
	p.mu.Lock()
	p.rules = nil
	for _, s := range p.streams {
		s.calm()
	}
	p.mu.Unlock()
	p.release()
}

func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.gate)
	p.gate = make(chan struct{})
}

// releaseLate lets patches land that were given up.
func (p *proxy) releaseLate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.lateGate)
	p.lateGate = make(chan struct{})
}

// held returns what is closed when that which is held back now is released.
func (p *proxy) held() (gate, lateGate <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gate, p.lateGate
}

// waiting tells how many faults wait for a request of these kinds, and returns what is closed when
// that changes.
func (p *proxy) waiting(kinds ...kind) (int, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, r := range p.rules {
		if slices.Contains(kinds, r.on) {
			n++
		}
	}
	return n, p.changed
}

// at returns how many requests are on their way, and how many snapshots were taken.
func (p *proxy) at() (busy, gaps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy, p.gaps
}

// pass does what a proxy does without faults.
func (x *exchange) pass() {
	if x.kind == snapshot || x.kind == resumed {
		x.stream()
		return
	}
	resp, err := x.forward()
	if err != nil {
		x.hangUp()
		return
	}
	x.answer(resp)
}

// forward sends the request on, whether or not somebody still waits for the answer.
func (x *exchange) forward() (*http.Response, error) {
	return x.send(context.WithoutCancel(x.r.Context()))
}

func (x *exchange) send(ctx context.Context) (*http.Response, error) {
	r := x.r.Clone(ctx)
	r.URL.Scheme, r.URL.Host = x.upstream.Scheme, x.upstream.Host
	r.Host, r.RequestURI = "", ""
	r.Header.Del("Accept-Encoding")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(x.body)), int64(len(x.body))
	return x.transport.RoundTrip(r)
}

func (x *exchange) answer(resp *http.Response) {
	defer resp.Body.Close()
	maps.Copy(x.w.Header(), resp.Header)
	x.w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(x.w, resp.Body) // who does not read it is gone
}

func (x *exchange) hangUp() {
	if conn, _, err := x.w.(http.Hijacker).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
