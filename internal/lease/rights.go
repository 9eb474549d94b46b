package lease

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RightsError says that the lease cannot be held for want of rights. Its text names them, and the rules that give them.
type RightsError struct {
	// Missing are the verbs that are not allowed.
	Missing   []string
	namespace string
	refusal   error // of the API server, if it came to that
}

// Error says what to add, in one line that can be pasted.
func (e *RightsError) Error() string {
	text := fmt.Sprintf("lease %s/%s: the controller may not %s it; in a Role of namespace %s that is bound to the controller's ServiceAccount, add to the rules: %s",
		e.namespace, Name, strings.Join(e.Missing, ", "), e.namespace, rules)
	if e.refusal != nil {
		text += fmt.Sprintf(" (%v)", e.refusal)
	}
	return text
}

// Unwrap returns what the API server said.
func (e *RightsError) Unwrap() error { return e.refusal }

// rules are those of the chart. RBAC cannot narrow create to a name.
const rules = "[{apiGroups: [" + coordinationv1.GroupName + "], resources: [leases], verbs: [create]}, " +
	"{apiGroups: [" + coordinationv1.GroupName + "], resources: [leases], resourceNames: [" + Name + "], verbs: [get, update]}]"

// checkRights asks the API server whether everything is allowed that is ever done with the lease. If it cannot be asked,
// nothing is concluded: what it refuses later is known then.
func (h *Holder) checkRights(ctx context.Context) error {
	if missing := h.missing(ctx); len(missing) > 0 {
		return &RightsError{Missing: missing, namespace: h.opts.Namespace}
	}
	return nil
}

// rightsError is for a request that was refused.
func (h *Holder) rightsError(ctx context.Context, refusal error) error {
	// Without a way to ask for the others, the one that was refused is all that is known, and its text has the verb.
	missing := h.missing(ctx)
	if len(missing) == 0 {
		missing = []string{"get, create or update"}
	}
	return &RightsError{Missing: missing, namespace: h.opts.Namespace, refusal: refusal}
}

func (h *Holder) missing(ctx context.Context) []string {
	var missing []string
	for _, verb := range []string{"get", "create", "update"} {
		attributes := &authorizationv1.ResourceAttributes{
			Namespace: h.opts.Namespace, Verb: verb, Group: coordinationv1.GroupName, Resource: "leases",
		}
		if verb != "create" {
			attributes.Name = Name
		}
		asking, cancel := h.bounded(ctx)
		review, err := h.client.AuthorizationV1().SelfSubjectAccessReviews().Create(asking, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes},
		}, metav1.CreateOptions{})
		cancel()
		if err == nil && !review.Status.Allowed {
			missing = append(missing, verb)
		}
	}
	return missing
}
