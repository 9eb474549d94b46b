package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/inspect"
)

// The exit codes of lint.
const (
	codeFindings   = 1
	codeUnreadable = 2
)

func newLint(c clock.Clock) *cobra.Command {
	a := &asking{clock: c}
	cmd := &cobra.Command{
		Use:   "lint FILE… | -n NAMESPACE | -A",
		Short: "Find annotations without effect, and sources that do not exist",
		Long: `Find mistakes: annotations with a typo, on the wrong object or with a wrong value, sources that do not exist, and workloads
that are opted in but that nothing rolls.

Manifests (- is standard input) are checked together, without a cluster. A source that is not in them may exist in the
cluster, so it is reported as a note. With --namespace or --all-namespaces, a cluster is checked.

The exit code is 0 if there are at most notes, 1 if there are mistakes, and 2 if something could not be read.`,
		Example: `  %[1]s lint deploy/*.yaml
  kustomize build . | %[1]s lint -
  %[1]s lint -n shop`,
		RunE: func(cmd *cobra.Command, args []string) error {
			asked := a.all || cmd.Flags().Changed("namespace")
			switch {
			case asked && len(args) > 0:
				return usageError{errors.New("set either files or a namespace: manifests are checked without a cluster")}
			case !asked && len(args) == 0:
				return usageError{fmt.Errorf("%s needs files, or --namespace", cmd.CommandPath())}
			}
			look := func() ([]inspect.Finding, []string, error) { return a.lintFiles(cmd, args) }
			if asked {
				look = func() ([]inspect.Finding, []string, error) { return a.lintCluster(cmd.Context(), cmd) }
			}
			found, unread, err := look()
			if err != nil {
				return exitError{err.Error(), codeUnreadable}
			}
			return tellFindings(cmd.OutOrStdout(), found, unread)
		},
	}
	a.bind(cmd, true)
	a.complete(cmd)
	return cmd
}

func (a *asking) lintFiles(cmd *cobra.Command, files []string) ([]inspect.Finding, []string, error) {
	settings, err := inspect.Assume(&a.cfg, cmd.Flags(), a.clock.Now(), "no cluster was read")
	if err != nil {
		return nil, nil, err
	}
	objects := inspect.NewObjects(settings)
	for _, file := range files {
		if err := readManifests(objects, file, cmd.InOrStdin()); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return objects.Lint(true, a.clock.Now()), objects.Skipped(), nil
}

func readManifests(into *inspect.Objects, file string, stdin io.Reader) error {
	from := stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return errors.Unwrap(err)
		}
		defer opened.Close()
		from = opened
	}
	all, err := inspect.Decode(from)
	for _, obj := range all {
		into.Put(obj)
	}
	return err
}

func (a *asking) lintCluster(ctx context.Context, cmd *cobra.Command) ([]inspect.Finding, []string, error) {
	_, objects, err := a.read(ctx, cmd)
	if err != nil {
		return nil, nil, err
	}
	unread := objects.Skipped()
	if settings := objects.Settings(); settings.Unmet {
		unread = append(unread, "The settings of the selected controller could not be read: "+settings.Assumed+".")
	}
	if resources := objects.Unread(); len(resources) > 0 {
		unread = append(unread, fmt.Sprintf("You may not list %s, so there may be more.", strings.Join(resources, ", ")))
	}
	return objects.Lint(false, a.clock.Now()), unread, nil
}

// tellFindings prints a line for each, as programs and grep want it, unless a person reads.
func tellFindings(out io.Writer, found []inspect.Finding, unread []string) error {
	for _, f := range found {
		if terminal(out) {
			fmt.Fprintln(out, f.Folded())
		} else {
			fmt.Fprintln(out, f)
		}
	}
	for _, why := range unread {
		fmt.Fprintln(out, why)
	}
	switch wrong := slices.ContainsFunc(found, func(f inspect.Finding) bool { return !f.Note }); {
	case wrong:
		return exitError{code: codeFindings}
	case len(unread) > 0:
		return exitError{code: codeUnreadable}
	default:
		return nil
	}
}
