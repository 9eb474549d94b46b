package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/rules"
)

// freezing is the command that freezes reloads, or the one that ends a freeze.
type freezing struct {
	readingCommand
	lasts  time.Duration
	reason string
}

// longestFreeze bounds how long one command freezes reloads.
const longestFreeze = 7 * 24 * time.Hour

// freezer is the field manager of the annotation.
const freezer = "reroll-freeze"

func newFreeze(c clock.Clock) *cobra.Command {
	f := &freezing{readingCommand: readingCommand{clock: c}}
	cmd := &cobra.Command{
		Use:   "freeze",
		Short: "Start no reload for some time, for example during an incident",
		Long: `Start no reload for some time, in one namespace or in all of them. Changes wait. When the time is over, or after reroll thaw,
each workload that waits is rolled once, with the newest data. Rollouts in progress continue.

The command writes the annotation ` + annotations.Freeze + ` on the Namespace, or with -A on the ConfigMap reloader-meta-info of the
controller. It replaces an earlier freeze there. The command uses your own permissions.

A change of a source with ` + annotations.Urgent + `: "true" is rolled nevertheless.` + asTheController,
		Example: `  %[1]s freeze -n shop --for 2h --reason "incident 4711"
  %[1]s freeze -A --for 30m --reason "migration of the registry"`,
		Args: noArgs,
		PreRunE: func(*cobra.Command, []string) error {
			return f.check()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.freeze(cmd.Context(), cmd, cmd.OutOrStdout())
		},
	}
	f.bind(cmd, true)
	cmd.Flags().DurationVar(&f.lasts, "for", 0, "how long, such as 2h, and at most 168h (required)")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, shown by events, status and why (required)")
	f.complete(cmd)
	return cmd
}

func newThaw(c clock.Clock) *cobra.Command {
	f := &freezing{readingCommand: readingCommand{clock: c}}
	cmd := &cobra.Command{
		Use:   "thaw",
		Short: "End a freeze before its time",
		Long: `End a freeze of reloads before its time. Workloads that wait are rolled with the newest data.

The command removes the annotation ` + annotations.Freeze + ` from the Namespace, or with -A from the ConfigMap reloader-meta-info of
the controller. The command uses your own permissions.` + asTheController,
		Example: `  %[1]s thaw -n shop
  %[1]s thaw -A`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.thaw(cmd.Context(), cmd, cmd.OutOrStdout())
		},
	}
	f.bind(cmd, true)
	f.complete(cmd)
	return cmd
}

func (f *freezing) check() error {
	switch {
	case f.lasts == 0:
		return usageError{errors.New("a freeze needs an end: add a duration, such as --for 2h")}
	case f.lasts < time.Second || f.lasts > longestFreeze:
		return usageError{fmt.Errorf("--for=%s: must be between 1s and 168h; freeze again to prolong it", f.lasts)}
	case f.reason == "":
		return usageError{errors.New(`a freeze needs a reason, which events and reroll status show: add one, such as --reason "incident 4711"`)}
	default:
		return nil
	}
}

func (f *freezing) freeze(ctx context.Context, cmd *cobra.Command, out io.Writer) error {
	cluster, settings, err := f.settings(ctx, cmd)
	if err != nil {
		return err
	}
	if err := f.unheeded(settings); err != nil {
		return err
	}
	now := f.clock.Now()
	until := now.Add(f.lasts).Round(time.Second)
	frozen := gate.Frozen{Frozen: annotations.Frozen{Until: until, Reason: f.reason}, All: f.all}
	review, err := cluster.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err == nil { // an old API server does not know it
		frozen.By = review.Status.UserInfo.Username
	}
	text := frozen.String()
	if frozen.Frozen, err = annotations.ParseFreeze(text); err != nil {
		return usageError{fmt.Errorf("--reason: %w", err)} // it is too long
	}
	before, err := f.write(ctx, settings, &text)
	if err != nil {
		return fmt.Errorf("freeze %s: %w", f.where(), err)
	}
	if old, was := gate.FrozenBy(before, f.all, now); was {
		fmt.Fprintf(out, "This replaces another freeze: %s.\n", old.Describe(now.Location()))
	}
	fmt.Fprintf(out, "No reload starts in %s: %s.\nTo end it: %s\n", f.where(), frozen.Describe(now.Location()), frozen.Thaw(f.namespace))
	f.doubt(settings, now, out)
	return nil
}

func (f *freezing) thaw(ctx context.Context, cmd *cobra.Command, out io.Writer) error {
	_, settings, err := f.settings(ctx, cmd)
	if err != nil {
		return err
	}
	if f.all && settings.Controller == "" {
		return fmt.Errorf("thaw %s: %s; set --controller-namespace", f.where(), settings.Assumed)
	}
	before, err := f.write(ctx, settings, nil)
	if err != nil {
		return fmt.Errorf("thaw %s: %w", f.where(), err)
	}
	now := f.clock.Now()
	if old, was := gate.FrozenBy(before, f.all, now); was {
		fmt.Fprintf(out, "The freeze of %s has ended: %s.\n", f.where(), old.Why())
	} else {
		fmt.Fprintf(out, "No freeze of %s is in force.\n", f.where())
	}
	if all, is := gate.FrozenBy(settings.Freeze, true, now); is && !f.all {
		fmt.Fprintf(out, "All namespaces are frozen nevertheless: %s. To end it: %s\n", all.Describe(now.Location()), all.Thaw(""))
	}
	return nil
}

// where describes what is frozen.
func (f *freezing) where() string {
	if f.all {
		return "all namespaces"
	}
	return "namespace " + f.namespace
}

// unheeded returns an error if the controller would not heed a freeze: to promise one would be
// wrong.
func (f *freezing) unheeded(s *inspect.Settings) error {
	switch {
	case f.all && s.Controller == "":
		return fmt.Errorf("freeze all namespaces: %s; set --controller-namespace", s.Assumed)
	case s.Rules.NotifyOnly:
		return fmt.Errorf("nothing was frozen: the controller in namespace %s reloads nothing, and a receiver that it notifies does not heed a freeze (--webhook-url)", s.Controller)
	case f.all:
		return nil
	case s.Rules.LeavesOut(f.namespace, nil) != rules.NotLeftOut:
		return fmt.Errorf("nothing was frozen: the controller in namespace %s does not watch namespace %s (--namespaces, --namespaces-to-ignore)", s.Controller, f.namespace)
	case !s.Rules.WatchesNamespaces():
		return fmt.Errorf("nothing was frozen: the controller in namespace %s watches certain namespaces only (--namespaces), and cannot read their annotations. To freeze all of them: reroll freeze -A", s.Controller)
	default:
		return nil
	}
}

// doubt reports what may keep the freeze from being heeded.
func (f *freezing) doubt(s *inspect.Settings, now time.Time, out io.Writer) {
	switch text := s.Doubt(now); {
	case text != "":
		fmt.Fprintf(out, "No controller is known to run: %s.\n", text)
	case f.all:
		for _, other := range s.Beside {
			fmt.Fprintf(out, "Another controller is in namespace %s. To freeze its reloads: add --controller-namespace=%s\n", other, other)
		}
	}
}

// write writes the annotation, or removes it if the text is nil. It returns the text before, if the
// user may read that.
func (f *freezing) write(ctx context.Context, s *inspect.Settings, text *string) (before string, err error) {
	client, err := f.metadata()
	if err != nil {
		return "", err
	}
	var objects metadata.ResourceInterface = client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	name := f.namespace
	if f.all {
		objects = client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(s.Controller)
		name = metainfo.Name
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]*string{annotations.Freeze: text}}})
	if err != nil {
		return "", err
	}
	present, err := objects.Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		before = present.Annotations[annotations.Freeze]
	case !apierrors.IsForbidden(err):
		return "", err
	}
	if text == nil && err == nil && present.Annotations[annotations.Freeze] == "" {
		return "", nil
	}
	_, err = objects.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: freezer})
	return before, err
}
