// Package web shows the answers of package inspect as pages. It does not know where the answers come
// from, and it writes nothing.
package web

import (
	"context"
	"embed"
	"html/template"
	"net/http"
	"strconv"

	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/access"
	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Reader is who reads a page, and what they may see.
type Reader interface {
	// Name is shown on each page.
	Name() string
	// MayRead reports whether the reader may read all objects of a resource, such as pods or
	// deployments.apps, in a namespace, or in all if it is empty.
	MayRead(ctx context.Context, namespace, resource string) bool
}

// Cluster is one cluster that pages show.
type Cluster interface {
	// Name is empty for the only cluster.
	Name() string
	// Problem is why the cluster cannot be read; empty if it can.
	Problem() string
	Board() *inspect.Board
	// Changed returns a channel that is closed when the board or the problem differs.
	Changed() <-chan struct{}
	// Attend counts a reader who waits for changes.
	Attend() (leave func())
	Facts() (inspect.Facts, error)
	// Explain explains one workload, with its Pods if pods is true.
	Explain(ctx context.Context, key workload.Key, pods bool) (*inspect.Explanation, error)
	Plan(key source.Key) (*inspect.Plan, *source.Source, error)
	Waves(keys []inspect.FleetKey) ([]inspect.Waves, error)
	// Sources returns the sources whose names contain a text in lower case, in a namespace, or in all
	// if it is empty.
	Sources(namespace, text string) ([]source.Key, error)
	// Events returns the events of the controller about one workload, or about all of a namespace if
	// its name is empty, the newest first.
	Events(ctx context.Context, about workload.Key) ([]inspect.LastEvent, error)
}

// Options configure the pages.
type Options struct {
	Build buildinfo.Info
	Clock clock.Clock
	// Own reports whether all reads use the permissions of the reader.
	Own bool
	// Context is the context of the only cluster, if the user has named one. The names of several
	// clusters are their contexts.
	Context string
}

//go:embed templates assets
var files embed.FS

// site serves the pages.
type site struct {
	Options
	clusters []Cluster
	who      func(*http.Request) (Reader, error)
	pages    map[string]*template.Template
	// started distinguishes this process from the one before.
	started string
}

// New returns the handler of all pages. Who returns the reader of a request, or an error for a
// request that gets nothing.
func New(clusters []Cluster, who func(*http.Request) (Reader, error), options Options) http.Handler {
	s := &site{Options: options, clusters: clusters, who: who, started: strconv.FormatInt(options.Clock.Now().UnixNano(), 36)}
	s.pages = s.parse()
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", s.asset())
	for path, page := range map[string]func(*request) (any, error){
		"/{$}": s.now, "/map": s.mapping, "/workload": s.workload, "/source": s.source, "/gates": s.gates, "/controller": s.controller,
	} {
		mux.Handle("GET "+path, s.page(page))
	}
	mux.HandleFunc("GET /live", s.live)
	return guarded(mux)
}

// guarded sets the headers of all responses.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		access.SetHeaders(w.Header())
		next.ServeHTTP(w, r)
	})
}
