package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/kubeapi"
)

func newResume(c clock.Clock) *cobra.Command {
	a := &readingCommand{clock: c}
	cmd := &cobra.Command{
		Use:   "resume SOURCE",
		Short: "Continue to roll the current data of a ConfigMap or Secret after workloads failed",
		Long: `Continue to roll the current data of a ConfigMap or Secret after workloads failed with it.

The command writes the annotation ` + annotations.Resumed + ` on the ConfigMap or Secret, with the digest of its current data. For this
data, failures stop nothing any more. The annotation has no effect on other data. The order of the waves and the number
of workloads that roll at the same time still apply. The command uses your own permissions.` + asTheController,
		Example: `  %[1]s resume configmap/web
  %[1]s resume -n shop secret/db-password`,
		Args: between(1, 1, "a source, such as configmap/web"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, objects, err := a.read(cmd.Context(), cmd)
			if err != nil {
				return err
			}
			r, err := objects.Resume(a.namespace, args[0], cluster.Running(cmd.Context(), a.cfg.Names), c.Now())
			if err != nil {
				return err
			}
			return a.consent(cmd.Context(), r, cmd.OutOrStdout())
		},
	}
	a.bind(cmd, false)
	a.complete(cmd, inspect.SourceResources())
	return cmd
}

// resumer is the field manager of the annotation.
const resumer = "reroll-resume"

// consent writes the annotation, unless the source was changed since it was read.
func (a *readingCommand) consent(ctx context.Context, r *inspect.Resumption, out io.Writer) error {
	config, err := a.config()
	if err != nil {
		return err
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": r.Source.UID, "resourceVersion": r.Source.ResourceVersion, "annotations": map[string]string{annotations.Resumed: r.Digest},
	}})
	if err != nil {
		return err
	}
	name := strings.ToLower(r.Source.Key.Kind.String()) + "/" + r.Source.Key.Name
	for _, k := range kubeapi.SourceKinds() {
		if k.Kind != r.Source.Key.Kind {
			continue
		}
		_, err := client.Resource(k.Resource.Resource).Namespace(r.Source.Key.Namespace).Patch(ctx, r.Source.Key.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: resumer})
		if err != nil {
			return fmt.Errorf("resume %s: %w", name, err)
		}
	}
	if !r.Stopped {
		fmt.Fprintf(out, "%s resumed for its current data, although no failure stops it now.\n", name)
		return nil
	}
	fmt.Fprintf(out, "%s resumed for its current data (%s).\n", name, r.Why)
	return nil
}
