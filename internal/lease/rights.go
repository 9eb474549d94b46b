package lease

import (
	"context"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/reroll-dev/reroll/internal/rights"
)

// Rights are all permissions for the lease. RBAC cannot restrict create to a name.
func Rights(namespace string) []rights.Right {
	about := rights.Right{Namespace: namespace, Group: coordinationv1.GroupName, Resource: "leases"}
	get, create, update := about, about, about
	create.Verb = "create"
	get.Verb, get.Name = "get", Name
	update.Verb, update.Name = "update", Name
	return []rights.Right{get, create, update}
}

// RightsError means that the lease cannot be held for lack of permissions. Its text names them, and the RBAC rules that
// grant them.
type RightsError struct {
	// Missing are the verbs that are not allowed.
	Missing   []string
	namespace string
	refusal   error // the response of the API server, if there was one
}

// Error names the rules to add, in one line that can be pasted.
func (e *RightsError) Error() string {
	text := fmt.Sprintf("lease %s/%s: the controller may not %s it; in a Role of namespace %s that is bound to the controller's ServiceAccount, add to the rules: %s",
		e.namespace, Name, strings.Join(e.Missing, ", "), e.namespace, rights.Rules(Rights(e.namespace)))
	if e.refusal != nil {
		text += fmt.Sprintf(" (%v)", e.refusal)
	}
	return text
}

// Unwrap returns the error of the API server.
func (e *RightsError) Unwrap() error { return e.refusal }

// checkRights asks the API server whether all requests about the lease are permitted. If that
// fails, nothing follows, because a later request shows it.
func (h *Holder) checkRights(ctx context.Context) error {
	if missing := h.missing(ctx); len(missing) > 0 {
		return &RightsError{Missing: missing, namespace: h.opts.Namespace}
	}
	return nil
}

// rightsError is the error for a rejected request.
func (h *Holder) rightsError(ctx context.Context, refusal error) error {
	// If the other permissions cannot be checked, only the rejected one is known, and its text has
	// the verb.
	missing := h.missing(ctx)
	if len(missing) == 0 {
		missing = []string{"get, create or update"}
	}
	return &RightsError{Missing: missing, namespace: h.opts.Namespace, refusal: refusal}
}

func (h *Holder) missing(ctx context.Context) []string {
	var missing []string
	for _, r := range Rights(h.opts.Namespace) {
		asking, cancel := h.bounded(ctx)
		allowed, err := rights.Allowed(asking, h.client, r)
		cancel()
		if err == nil && !allowed {
			missing = append(missing, r.Verb)
		}
	}
	return missing
}
