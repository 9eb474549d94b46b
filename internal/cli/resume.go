package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/metainfo"
)

func newResume(c clock.Clock) *cobra.Command {
	a := &readingCommand{clock: c}
	halted := false
	cmd := &cobra.Command{
		Use:   "resume [SOURCE]",
		Short: "Continue to roll the current data of a ConfigMap or Secret after workloads failed",
		Long: `Continue to roll the current data of a ConfigMap or Secret after workloads failed with it.

The command writes the annotation ` + annotations.Resumed + ` on the ConfigMap or Secret, with the digest of its current
data. Failures with this data no longer stop the waves. The annotation has no effect on other data. The order of the waves
and the number of workloads that roll at the same time still apply. The command uses your own permissions.

With --all, the command ends a halt of all reloads (--halt-when-failing). It writes the annotation ` + annotations.Resumed + `
on the ConfigMap reloader-meta-info of the controller. Reloads that began before no longer count as failed. Later ones do.` + asTheController,
		Example: `  %[1]s resume configmap/web
  %[1]s resume -n shop secret/db-password
  %[1]s resume --all`,
		Args: func(cmd *cobra.Command, args []string) error {
			if halted {
				return noArgs(cmd, args)
			}
			return between(1, 1, "a source, such as configmap/web")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if halted {
				return a.endHalt(cmd)
			}
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
	cmd.Flags().BoolVar(&halted, "all", false, "end a halt of all reloads, instead of a stop of one source")
	a.complete(cmd, inspect.Completed())
	return cmd
}

// endHalt accepts all failed reloads until now. The time is that of the newest reload, by the clock
// of the controller.
func (a *readingCommand) endHalt(cmd *cobra.Command) error {
	_, settings, err := a.settings(cmd.Context(), cmd)
	if err != nil {
		return err
	}
	switch {
	case settings.Controller == "":
		return fmt.Errorf("no halt can be ended: %s; set --controller-namespace", settings.Assumed)
	case !settings.Halted.Is():
		fmt.Fprintf(cmd.OutOrStdout(), "Reloads are not halted by the controller in namespace %s.\n", settings.Controller)
		return nil
	}
	client, err := a.metadata()
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{annotations.Resumed: strconv.FormatInt(settings.Halted.Newest, 10)},
	}})
	if err != nil {
		return err
	}
	maps := client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(settings.Controller)
	if _, err := maps.Patch(cmd.Context(), metainfo.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: resumer}); err != nil {
		return fmt.Errorf("resume all reloads: %w", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "All reloads resumed within seconds (%s).\n", settings.Halted.Why)
	return nil
}

func (a *readingCommand) metadata() (metadata.Interface, error) {
	config, err := a.config()
	if err != nil {
		return nil, err
	}
	return metadata.NewForConfig(config)
}

// resumer is the field manager of the annotation.
const resumer = "reroll-resume"

// consent writes the annotation, unless the source was changed since it was read.
func (a *readingCommand) consent(ctx context.Context, r *inspect.Resumption, out io.Writer) error {
	client, err := a.metadata()
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
