package cli

import (
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
	a := &readingCommand{clock: c}
	cmd := &cobra.Command{
		Use:   "lint FILE… | -n NAMESPACE | -A",
		Short: "Find annotations without effect, and sources that do not exist",
		Long: `Find mistakes: annotations with a typo, on the wrong object or with a wrong value, sources that do not exist, and workloads
that are opted in but that nothing rolls.

Manifests (- is standard input) are checked together, without a cluster. A source that is not in them may exist in the
cluster, so it is reported as a note. With --namespace or --all-namespaces, a cluster is checked.

For manifests, the settings of the controller are unknown. Set the flags of reroll run that you use, such as
--auto-reload-all or --enable-cluster-trust-bundles; otherwise the defaults count.

Each mistake in a manifest is reported with its file and line. If a document cannot be read, the command reports that and
continues with the next one.

The exit code is 0 if there are at most notes, 1 if there are mistakes, and 2 if a file or a namespace could not be read.`,
		Example: `  %[1]s lint deploy/*.yaml
  kustomize build . | %[1]s lint -
  %[1]s lint -n shop`,
		RunE: func(cmd *cobra.Command, args []string) error {
			onCluster := a.all || cmd.Flags().Changed("namespace")
			switch {
			case onCluster && len(args) > 0:
				return usageError{errors.New("set either files or a namespace: manifests are checked without a cluster")}
			case !onCluster && len(args) == 0:
				return usageError{fmt.Errorf("%s needs files, or --namespace", cmd.CommandPath())}
			}
			run := a.lintFiles
			if onCluster {
				run = a.lintCluster
			}
			report, err := run(cmd, args)
			if err != nil {
				return exitError{err.Error(), codeUnreadable}
			}
			return report.print(cmd.OutOrStdout(), cmd.ErrOrStderr(), a.output == outputJSON)
		},
	}
	a.bind(cmd, true)
	a.bindOutput(cmd, outputJSON)
	a.complete(cmd)
	return cmd
}

// linted has the findings of lint, and the input that could not be read.
type linted struct {
	found  []inspect.Finding
	unread []string
	// failed are the files and documents that could not be read.
	failed []inspect.Unread
}

func (a *readingCommand) lintFiles(cmd *cobra.Command, files []string) (linted, error) {
	settings, err := inspect.Assume(&a.cfg, cmd.Flags(), a.clock.Now(), "no cluster was read")
	if err != nil {
		return linted{}, err
	}
	objects, report := inspect.NewObjects(settings), linted{}
	for _, file := range files {
		report.failed = append(report.failed, readManifests(objects, file, cmd.InOrStdin())...)
	}
	report.found, report.unread = objects.Lint(true, a.clock.Now()), objects.Skipped()
	return report, nil
}

func readManifests(into *inspect.Objects, file string, in io.Reader) []inspect.Unread {
	if file == stdin {
		return into.ReadManifests("stdin", in)
	}
	opened, err := os.Open(file)
	if err != nil {
		return []inspect.Unread{{File: file, Text: errors.Unwrap(err).Error()}}
	}
	defer opened.Close()
	return into.ReadManifests(file, opened)
}

func (a *readingCommand) lintCluster(cmd *cobra.Command, _ []string) (linted, error) {
	_, objects, err := a.read(cmd.Context(), cmd)
	if err != nil {
		return linted{}, err
	}
	unread := objects.Skipped()
	if settings := objects.Settings(); settings.Unmet {
		unread = append(unread, "The settings of the selected controller could not be read: "+settings.Assumed+".")
	}
	if resources := objects.Unread(); len(resources) > 0 {
		unread = append(unread, fmt.Sprintf("You may not list %s, so there may be more.", strings.Join(resources, ", ")))
	}
	return linted{found: objects.Lint(false, a.clock.Now()), unread: unread}, nil
}

// print writes one line for each finding, as programs and grep need it. For a terminal, it folds
// long lines.
func (l *linted) print(out, stderr io.Writer, asJSON bool) error {
	if asJSON {
		text, err := inspect.LintJSON(l.found, l.failed, l.unread)
		if err != nil {
			return exitError{err.Error(), codeUnreadable}
		}
		fmt.Fprint(out, text)
	} else {
		for _, f := range l.found {
			if terminal(out) {
				fmt.Fprintln(out, f.Folded())
			} else {
				fmt.Fprintln(out, f)
			}
		}
		for _, why := range l.unread {
			fmt.Fprintln(out, why)
		}
		for _, why := range l.failed {
			fmt.Fprintln(stderr, "reroll: "+why.String())
		}
	}
	switch wrong := slices.ContainsFunc(l.found, func(f inspect.Finding) bool { return !f.Note }); {
	case len(l.failed) > 0:
		return exitError{code: codeUnreadable}
	case wrong:
		return exitError{code: codeFindings}
	case len(l.unread) > 0:
		return exitError{code: codeUnreadable}
	default:
		return nil
	}
}
