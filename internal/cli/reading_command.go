package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/inspect"
)

// readingCommand is the common part of the commands that read a cluster with the permissions of the
// user.
type readingCommand struct {
	kubeconfig, context string
	namespace           string
	all                 bool
	// home is the namespace of the kubeconfig.
	home string
	// several reports whether the command takes several contexts, with a flag of its own.
	several bool
	// at is the namespace of the controller, or empty to search for it.
	at     string
	output string
	// requireController reports whether it is an error that the controller does not run.
	requireController bool

	cfg   config.Config
	clock clock.Clock
}

// The values of --output.
const (
	outputWide = "wide"
	outputJSON = "json"
)

// bind adds the flags. If all is true, it adds a flag for all namespaces.
func (a *readingCommand) bind(cmd *cobra.Command, all bool) {
	flags := cmd.Flags()
	flags.StringVarP(&a.namespace, "namespace", "n", "", "namespace (default: from the kubeconfig, or of the Pod)")
	if all {
		flags.BoolVarP(&a.all, "all-namespaces", "A", false, "all namespaces")
	}
	if !a.several {
		flags.StringVar(&a.context, "context", "", "context of the kubeconfig")
	}
	flags.StringVar(&a.kubeconfig, "kubeconfig", "", "path of the kubeconfig (default: KUBECONFIG, ~/.kube/config, or the ServiceAccount in a Pod)")
	flags.StringVar(&a.at, "controller-namespace", "", "namespace of the controller (default: found by the ConfigMap reloader-meta-info)")
	a.cfg.BindDecisionFlags(flags)
	for _, name := range config.DecisionFlags() {
		flags.Lookup(name).Hidden = true // the help stays short; the text of the help names them
	}
}

// bindOutput adds the flag for the output format, and checks its value.
func (a *readingCommand) bindOutput(cmd *cobra.Command, values ...string) {
	forms := strings.Join(values, " or ")
	cmd.Flags().StringVarP(&a.output, "output", "o", "", forms+" (default: a text for readers)")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if a.output != "" && !slices.Contains(values, a.output) {
			return usageError{fmt.Errorf("--output=%s: must be %s", a.output, forms)}
		}
		return nil
	}
}

// show prints an answer as text or as JSON.
func (a *readingCommand) show(out io.Writer, text func() string, json func() (string, error)) error {
	if a.output != outputJSON {
		_, err := fmt.Fprint(out, text())
		return err
	}
	encoded, err := json()
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(out, encoded)
	return err
}

const asTheController = `

The settings of the controller are read from its ConfigMap reloader-meta-info. A flag of reroll run that is set here, such
as --auto-reload-all, overrides them.`

// cluster returns a client for the cluster.
func (a *readingCommand) cluster() (*inspect.Cluster, error) {
	config, err := a.config()
	if err != nil {
		return nil, err
	}
	return inspect.NewCluster(config)
}

// config returns the configuration for requests, and sets the namespace.
func (a *readingCommand) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	where := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.context})
	restConfig, err := where.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster configured: %w\nSet KUBECONFIG, --kubeconfig or --context", unconfigured(err))
	}
	own, _, err := where.Namespace()
	if err != nil {
		return nil, fmt.Errorf("read the namespace of the kubeconfig: %w", err)
	}
	a.home, a.namespace = own, cmp.Or(a.namespace, own)
	if a.all {
		a.namespace = ""
	}
	return quick(restConfig), nil
}

// quick removes the rate limit of the client, because one command sends few requests.
func quick(c *rest.Config) *rest.Config {
	limit(c, config.Requests{})
	c.UserAgent = "reroll"
	c.ContentType = runtime.ContentTypeProtobuf
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return c
}

// read reads everything from the cluster once.
func (a *readingCommand) read(ctx context.Context, cmd *cobra.Command) (*inspect.Cluster, *inspect.Objects, error) {
	cluster, settings, err := a.settings(ctx, cmd)
	if err != nil {
		return nil, nil, err
	}
	objects, err := cluster.Read(ctx, settings, a.namespace)
	if err != nil {
		return nil, nil, unreachable(err)
	}
	return cluster, objects, nil
}

func (a *readingCommand) settings(ctx context.Context, cmd *cobra.Command) (*inspect.Cluster, *inspect.Settings, error) {
	cluster, err := a.cluster()
	if err != nil {
		return nil, nil, err
	}
	settings, err := inspect.Ask(ctx, cluster.Interface, &a.cfg, cmd.Flags(), a.at, a.namespace, a.clock.Now())
	if err == nil && a.requireController && settings.Controller != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "Checking whether the controller in namespace %s runs, which takes some seconds.\n", settings.Controller)
		cluster.Observe(ctx, settings, a.clock)
	}
	return cluster, settings, err
}

func unreachable(err error) error { return fmt.Errorf("read the cluster: %w", err) }

// paint enables colors only for a terminal, unless NO_COLOR is set: https://no-color.org.
func paint(out io.Writer, getenv func(string) string) inspect.Paint {
	return inspect.Paint{On: getenv("NO_COLOR") == "" && getenv("TERM") != "dumb" && terminal(out)}
}

func terminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// exitError is an error with an exit code. Without a text, nothing is printed.
type exitError struct {
	text string
	code int
}

// Error returns the text.
func (e exitError) Error() string { return e.text }

// exitCode returns the exit code of an error, which is 1 by default.
func exitCode(err error) int {
	if own, ok := errors.AsType[exitError](err); ok {
		return own.code
	}
	return 1
}
