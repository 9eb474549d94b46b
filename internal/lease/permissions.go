package lease

import (
	"context"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/reroll-dev/reroll/internal/permissions"
)

// Permissions returns all permissions for the lease. RBAC cannot restrict create to a name.
func Permissions(namespace string) []permissions.Permission {
	about := permissions.Permission{Namespace: namespace, Group: coordinationv1.GroupName, Resource: "leases"}
	get, create, update := about, about, about
	create.Verb = "create"
	get.Verb, get.Name = "get", Name
	update.Verb, update.Name = "update", Name
	return []permissions.Permission{get, create, update}
}

// PermissionError means that the lease cannot be held because permissions are missing. Its text
// names these permissions, and the RBAC rules that grant them.
type PermissionError struct {
	// Missing are the verbs that are not permitted.
	Missing   []string
	namespace string
	refusal   error // the response of the API server, if there was one
}

// Error names the RBAC rules to add, on one line.
func (e *PermissionError) Error() string {
	text := fmt.Sprintf("lease %s/%s: the controller may not %s it; in a Role of namespace %s that is bound to the controller's ServiceAccount, add to the rules: %s",
		e.namespace, Name, strings.Join(e.Missing, ", "), e.namespace, permissions.Rules(Permissions(e.namespace)))
	if e.refusal != nil {
		text += fmt.Sprintf(" (%v)", e.refusal)
	}
	return text
}

// Unwrap returns the error of the API server.
func (e *PermissionError) Unwrap() error { return e.refusal }

// checkPermissions asks the API server whether all requests about the lease are permitted. If the
// check itself fails, there is no error, because a later request shows what is missing.
func (h *Holder) checkPermissions(ctx context.Context) error {
	if missing := h.missing(ctx); len(missing) > 0 {
		return &PermissionError{Missing: missing, namespace: h.opts.Namespace}
	}
	return nil
}

// permissionError returns the error for a rejected request.
func (h *Holder) permissionError(ctx context.Context, refusal error) error {
	// If the other permissions cannot be checked, only the rejected one is known, and the response
	// names its verb.
	missing := h.missing(ctx)
	if len(missing) == 0 {
		missing = []string{"get, create or update"}
	}
	return &PermissionError{Missing: missing, namespace: h.opts.Namespace, refusal: refusal}
}

func (h *Holder) missing(ctx context.Context) []string {
	var missing []string
	for _, r := range Permissions(h.opts.Namespace) {
		bounded, cancel := h.bounded(ctx)
		allowed, err := permissions.Allowed(bounded, h.client, r)
		cancel()
		if err == nil && !allowed {
			missing = append(missing, r.Verb)
		}
	}
	return missing
}
