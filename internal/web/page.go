package web

import (
	"bytes"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/reroll-dev/reroll/internal/inspect"
)

// request is a request of a reader for a page.
type request struct {
	*http.Request
	site  *site
	sight *sight
	query url.Values
	live  string
}

// layout is what all pages have.
type layout struct {
	// Page is the name of the template, and Title what the browser shows.
	Page, Title string
	Reader      string
	// SignOut reports whether the reader has a session to end.
	SignOut bool
	Version string
	// Live is the version of the cluster that the page shows, or an earlier one.
	Live     string
	Query    url.Values
	Clusters []clusterHead
	// Body is what the template of the page shows.
	Body any
}

// clusterHead is a cluster in the head of each page.
type clusterHead struct {
	Name, Problem string
	// Reading reports whether the cluster is being read for the first time.
	Reading bool
}

// body is what a page consists of.
type body interface {
	// page returns the name of the template and the title.
	page() (name, title string)
}

// pageError is an error with its HTTP status.
type pageError struct {
	status int
	text   string
}

// Error returns the text.
func (e pageError) Error() string { return e.text }

func (s *site) parse() map[string]*template.Template {
	pages := map[string]*template.Template{}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err) // only a pattern with a mistake fails
	}
	for _, name := range names {
		if base := path.Base(name); base != "layout.html" && base != "parts.html" {
			pages[strings.TrimSuffix(base, ".html")] = template.Must(template.New("layout.html").Funcs(s.functions()).ParseFS(files, "templates/layout.html", "templates/parts.html", name))
		}
	}
	return pages
}

// page serves a page to a reader.
func (s *site) page(build func(*request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reader, err := s.who(r)
		if err != nil {
			s.show(w, nil, http.StatusUnauthorized, &failure{Title: "You are not signed in", Text: err.Error()})
			return
		}
		req := &request{Request: r, site: s, sight: newSight(r.Context(), reader), query: r.URL.Query(), live: s.version()}
		content, err := build(req)
		if err == nil {
			s.show(w, req, http.StatusOK, content)
			return
		}
		status, title := http.StatusInternalServerError, "This page cannot be shown"
		if known, ok := errors.AsType[pageError](err); ok {
			status, title = known.status, http.StatusText(known.status)
		}
		s.show(w, req, status, &failure{Title: title, Text: err.Error()})
	})
}

// failure is a page that shows an error.
type failure struct{ Title, Text string }

func (f *failure) page() (name, title string) { return "failure", f.Title }

func (s *site) show(w http.ResponseWriter, r *request, status int, content any) {
	l := layout{Version: s.Build.Version, Query: url.Values{}, Body: content}
	if r != nil {
		l.Reader, l.Query, l.Live = r.sight.reader.Name(), r.query, r.live
		session, ok := r.sight.reader.(interface{ CanSignOut() bool })
		l.SignOut = ok && session.CanSignOut()
		for _, c := range s.clusters {
			l.Clusters = append(l.Clusters, clusterHead{c.Name(), c.Problem(), !c.Board().Ready})
		}
	}
	l.Page, l.Title = content.(body).page()
	var b bytes.Buffer
	if err := s.pages[l.Page].Execute(&b, l); err != nil {
		http.Error(w, "the page could not be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the reader may have gone
}

// asset serves the style sheet and the script. They are the same for all readers.
func (s *site) asset() http.Handler {
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-cache")
		server.ServeHTTP(w, r)
	})
}

// cluster returns the cluster of a request.
func (s *site) cluster(r *request) (Cluster, error) {
	name := r.query.Get("cluster")
	for _, c := range s.clusters {
		if c.Name() == name || name == "" && len(s.clusters) == 1 {
			return c, nil
		}
	}
	return nil, pageError{http.StatusNotFound, "There is no cluster of this name."}
}

var _ Cluster = (*inspect.View)(nil)
