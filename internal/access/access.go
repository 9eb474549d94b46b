// Package access authenticates the readers of pages, and checks their permissions. It does not know
// the content of the pages.
//
// In the cluster, a reader shows a token, once in a form or with each request in a header. On a
// user's own machine, the reader has the one-time link that the program has printed.
package access

import (
	"context"
	"net/http"
)

// Reader is a user whose token the API server accepts.
type Reader struct {
	id      *identity
	permits *permits
	// session reports that the reader can sign out.
	session bool
}

// Name returns the name of the user.
func (r Reader) Name() string { return r.id.name() }

// MayRead reports whether the reader may list a resource, such as pods or deployments.apps. An empty
// namespace means all namespaces. If the API server does not answer, the reader may not.
func (r Reader) MayRead(ctx context.Context, namespace, resource string) bool {
	// One answer about all namespaces replaces one for each.
	if namespace != "" && r.permits.allow(ctx, r.id, question{"", resource}) {
		return true
	}
	return r.permits.allow(ctx, r.id, question{namespace, resource})
}

// CanSignOut reports whether the reader has a session.
func (r Reader) CanSignOut() bool { return r.session }

type readerKey struct{}

// Of returns the reader of a request that was admitted.
func Of(r *http.Request) (Reader, bool) {
	reader, ok := r.Context().Value(readerKey{}).(Reader)
	return reader, ok
}
