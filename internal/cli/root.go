// Package cli has the commands of reroll, a file for each one.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/config"
)

const about = `Reroll rolls Kubernetes workloads when the ConfigMaps and Secrets they use change.

Opt a workload in, and a change of any ConfigMap or Secret that its pod template references rolls it:

  kubectl annotate deployment web reloader.stakater.com/auto=true

The annotations, flags and metrics are those of stakater/Reloader, so that it can be
replaced without touching a manifest. Reroll is not affiliated with Stakater.`

// usageError is an error in the command line. Its exit code is 2, and a hint names the help.
type usageError struct{ error }

// Main runs a command line and returns the exit code. called is the name of the executable.
func Main(called string, args []string, version string, getenv func(string) string, stdout, stderr io.Writer) int {
	if strings.HasPrefix(filepath.Base(called), completer) {
		called, args = plugin, append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	inPod := getenv("KUBERNETES_SERVICE_HOST") != ""
	root := newRoot(called, version, getenv, stderr)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if len(args) == 0 && !inPod {
		root.SetOut(stderr)
		_ = root.Help()
		return 2
	}
	line := withValues(root, impliedRun(args))
	collect(root, line)
	root.SetArgs(line)

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(stderr, "reroll: %s\n", withoutTokens(text, args))
	}
	if _, ok := errors.AsType[usageError](err); ok || strings.HasPrefix(err.Error(), "unknown command") {
		fmt.Fprintf(stderr, "See %s --help.\n", cmd.CommandPath())
		return 2
	}
	return exitCode(err)
}

// withoutTokens removes tokens from an error that quotes the command line. A user may put a blank
// before an address by mistake, so the address becomes an argument. Such addresses may contain
// tokens.
func withoutTokens(text string, args []string) string {
	for _, word := range args {
		if strings.Contains(word, "://") {
			text = strings.ReplaceAll(text, strconv.Quote(word), strconv.Quote(config.WithoutToken(word)))
		}
	}
	return text
}

// plugin is the name of the executable that kubectl runs for kubectl reroll.
const plugin = "kubectl-reroll"

// completer is the name of the executable that kubectl runs to complete the arguments of kubectl
// reroll.
const completer = "kubectl_complete-reroll"

// impliedRun adds run to a command line that has only flags, because the image of Reloader is
// started in that way.
func impliedRun(args []string) []string {
	if len(args) == 0 {
		return []string{"run"}
	}
	switch first := args[0]; {
	case first == "--version":
		return append([]string{"version"}, args[1:]...)
	case first == "-h", first == "--help", !strings.HasPrefix(first, "-"):
		return args
	default:
		return append([]string{"run"}, args...)
	}
}

// withValues joins a flag with an optional value and the value after it, as in --reload-on-create
// true. The parser would treat that value as an argument.
func withValues(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil {
		return args
	}
	var joined []string
	for i := 0; i < len(args); i++ {
		word := args[i]
		name, isFlag := strings.CutPrefix(word, "--")
		if f := cmd.Flags().Lookup(name); isFlag && f != nil && f.NoOptDefVal != "" && i+1 < len(args) {
			if _, err := strconv.ParseBool(args[i+1]); err == nil || args[i+1] == config.Auto && config.TakesAuto(f) {
				i++
				word += "=" + args[i]
			}
		}
		joined = append(joined, word)
	}
	return joined
}

func newRoot(called, version string, getenv func(string) string, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "reroll",
		Short:         "Rolls Kubernetes workloads when their ConfigMaps and Secrets change",
		Long:          about,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	// The command prints it: cobra would use text/template, which calls methods by names that the
	// linker does not know, so that the binary would keep every method of every type.
	root.Flags().BoolP("version", "v", false, "version for reroll")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	if strings.HasPrefix(filepath.Base(called), plugin) {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl reroll"}
	}
	root.AddCommand(newRun(buildinfo.Read(version), getenv, stderr), newVersion(buildinfo.Read(version)))
	root.AddCommand(
		newStatus(getenv, clock.RealClock{}), newWhy(getenv, clock.RealClock{}), newPlan(getenv, clock.RealClock{}), newLint(clock.RealClock{}), newStamp(),
		newPending(getenv, clock.RealClock{}), newApprove(clock.RealClock{}), newResume(clock.RealClock{}), newFreeze(clock.RealClock{}), newThaw(clock.RealClock{}), newUninstall(clock.RealClock{}),
		newUI(buildinfo.Read(version), clock.RealClock{}),
	)
	for _, cmd := range root.Commands() {
		completeValues(cmd)
		cmd.Example = strings.ReplaceAll(cmd.Example, "%[1]s", root.DisplayName())
	}
	return root
}

func newVersion(build buildinfo.Info) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the commit it was built from",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "reroll", build)
			return err
		},
	}
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no argument, and got %q", cmd.CommandPath(), args[0])}
	}
	return nil
}
