package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/clientset"
)

// Reviews are the questions to the API server, as in the clientset.
type Reviews interface {
	TokenReviews() clientset.Creator[*authenticationv1.TokenReview]
	SubjectAccessReviews() clientset.Creator[*authorizationv1.SubjectAccessReview]
}

// errRejected means that the API server does not accept the token. Every other error means that
// nobody knows.
var errRejected = errors.New("the API server does not accept the token")

const (
	// reviewTakes is the timeout of one review.
	reviewTakes = 10 * time.Second
	// reviewsAtOnce limits the reviews in flight. The API server counts them against the same
	// ServiceAccount as the writes of the controller.
	reviewsAtOnce = 16
)

// reviewer sends reviews.
type reviewer struct {
	api   Reviews
	slots chan struct{}
}

func newReviewer(api Reviews) reviewer {
	return reviewer{api: api, slots: make(chan struct{}, reviewsAtOnce)}
}

// inTurn waits for a slot. It returns an error if the context ended first.
func (r reviewer) inTurn(ctx context.Context, review func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTakes)
	defer cancel()
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("too many reviews are in progress: %w", ctx.Err())
	}
	defer func() { <-r.slots }()
	return review(ctx)
}

// whose returns the user of a token, or errRejected. It asks for the default audiences, which are
// those of the API server: a token for another program is rejected.
func (r reviewer) whose(ctx context.Context, token string) (user authenticationv1.UserInfo, err error) {
	err = r.inTurn(ctx, func(ctx context.Context) error {
		review, err := r.api.TokenReviews().Create(ctx, &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: token},
		}, metav1.CreateOptions{})
		switch {
		case err != nil:
			// An error of the API server may quote the object of the request.
			return errors.New(strings.ReplaceAll(err.Error(), token, "TOKEN"))
		case !review.Status.Authenticated || review.Status.User.Username == "":
			return errRejected
		}
		user = review.Status.User
		return nil
	})
	return user, err
}

// allows reports whether the user may list a resource, such as deployments.apps. An empty namespace
// means all namespaces.
func (r reviewer) allows(ctx context.Context, user *authenticationv1.UserInfo, namespace, resource string) (allowed bool, err error) {
	name, group, _ := strings.Cut(resource, ".")
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	err = r.inTurn(ctx, func(ctx context.Context) error {
		review, err := r.api.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: namespace, Verb: "list", Group: group, Resource: name,
				},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		allowed = review.Status.Allowed && !review.Status.Denied
		return nil
	})
	return allowed, err
}
