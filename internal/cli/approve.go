package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/inspect"
)

// approver is the field manager of the annotation.
const approver = "reroll-approve"

// approving is the command that approves the present data of an object.
type approving struct {
	readingCommand
	// seen is the digest that the user has seen.
	seen string
}

func newApprove(c clock.Clock) *cobra.Command {
	a := &approving{readingCommand: readingCommand{clock: c}}
	cmd := &cobra.Command{
		Use:   "approve KIND/NAME",
		Short: "Approve the reloads that wait for the current data of a source or a workload",
		Long: `Approve the reloads that wait for the current data of a ConfigMap or Secret, for all of its workloads. Or approve the
current data of all sources of one workload. A ClusterTrustBundle is in no namespace: approve its workloads.

The command writes the annotation ` + annotations.Approved + ` on that object, with the digest of the data. The annotation
has no effect on other data. The command uses your own permissions: to patch the object, and the verb approve on
reloads.reroll.dev in its namespace.

With --digest, the command fails if the data has changed since you saw that digest. An event and reroll pending show it.` + asTheController,
		Example: `  %[1]s approve configmap/web
  %[1]s approve -n shop deployment/web --digest=5f0c2f0e6d0f4f4bb0a8f5b1c2d3e4f5`,
		Args: between(1, 1, "a source or a workload, such as configmap/web or deployment/web"),
		PreRunE: func(*cobra.Command, []string) error {
			var sum digest.Digest
			if err := sum.UnmarshalText([]byte(a.seen)); a.seen != "" && (err != nil || sum.String() != a.seen) {
				return usageError{fmt.Errorf("--digest=%s: must be 32 hexadecimal digits, as in an event or in reroll pending", a.seen)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, objects, err := a.read(cmd.Context(), cmd)
			if err != nil {
				return err
			}
			approval, err := objects.Approve(a.namespace, args[0], a.seen, cluster.Running(cmd.Context(), a.cfg.Names), c.Now())
			if err != nil {
				return err
			}
			if err := a.may(cmd.Context(), cluster); err != nil {
				return err
			}
			return a.approve(cmd.Context(), cluster, approval, cmd.OutOrStdout())
		},
	}
	a.bind(cmd, false)
	cmd.Flags().StringVar(&a.seen, "digest", "", "digest of the data that you have seen (default: of the current data)")
	a.complete(cmd, slices.Concat(inspect.Completed(), inspect.WorkloadResources()))
	return cmd
}

// may returns an error if the user may not approve. The admission policy decides. Without it, this
// keeps users from an approval that they should not give.
func (a *approving) may(ctx context.Context, cluster *inspect.Cluster) error {
	review, err := cluster.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: a.namespace, Verb: "approve", Group: "reroll.dev", Resource: "reloads"},
	}}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return fmt.Errorf("check whether you may approve: %w", err)
	case !review.Status.Allowed:
		return errors.New("you may not approve reloads in namespace " + a.namespace + ": a Role or ClusterRole has to allow the verb approve on reloads of the API group reroll.dev")
	default:
		return nil
	}
}

// approve writes the annotation, unless the object was changed since it was read.
func (a *approving) approve(ctx context.Context, cluster *inspect.Cluster, consent *inspect.Approval, out io.Writer) error {
	client, err := a.metadata()
	if err != nil {
		return err
	}
	resource := consent.Source.Resource.Resource
	if consent.Kind != nil {
		if resource, err = cluster.ResourceOf(*consent.Kind, consent.Namespace); err != nil {
			return err
		}
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": consent.UID, "resourceVersion": consent.ResourceVersion, "annotations": map[string]string{annotations.Approved: consent.Digest},
	}})
	if err != nil {
		return err
	}
	if _, err := client.Resource(resource).Namespace(consent.Namespace).Patch(ctx, consent.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: approver}); err != nil {
		return fmt.Errorf("approve %s: %w", consent.Ref, err)
	}
	if len(consent.Waiting) == 0 {
		fmt.Fprintf(out, "%s approved with its current data. No reload is known to wait for that.\n", consent.Ref)
		return nil
	}
	fmt.Fprintf(out, "%s approved with its current data. This concerns %s.\n", consent.Ref, strings.Join(consent.Waiting, ", "))
	return nil
}
