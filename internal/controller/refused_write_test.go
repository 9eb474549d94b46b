package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWhichAnswersAreRefusals(t *testing.T) {
	of := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for about, tc := range map[string]struct {
		err  error
		want bool
	}{
		"another version":                {apierrors.NewConflict(of, "web", errors.New("changed")), true},
		"it is invalid":                  {apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "web", nil), true},
		"a rule or a missing permission": {apierrors.NewForbidden(of, "web", errors.New("no")), true},
		"it is gone":                     {apierrors.NewNotFound(of, "web"), true},
		"too many requests":              {apierrors.NewTooManyRequests("later", 1), true},
		"within other words":             {fmt.Errorf("patch: %w", apierrors.NewConflict(of, "web", errors.New("changed"))), true},
		"it took too long":               {apierrors.NewTimeoutError("it may go on", 1), false},
		"etcd did not answer":            {apierrors.NewServerTimeout(of, "patch", 1), false},
		"the API server has an error":    {apierrors.NewInternalError(errors.New("oh")), false},
		"the request took too long":      {apierrors.NewGenericServerResponse(http.StatusRequestTimeout, "patch", of, "web", "", 0, true), false},
		"the connection was closed":      {errors.New("EOF"), false},
		"we did not wait for it":         {context.DeadlineExceeded, false},
	} {
		t.Run(about, func(t *testing.T) {
			if got := isRefusal(tc.err); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
