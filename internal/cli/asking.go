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

// asking is what the commands share that read a cluster, with the permissions of the user.
type asking struct {
	kubeconfig, context string
	namespace           string
	all                 bool
	// at is the namespace of the controller, empty if it is to be found.
	at     string
	output string
	cfg    config.Config
	clock  clock.Clock
}

// The values of --output.
const (
	outputWide = "wide"
	outputJSON = "json"
)

// bind adds the flags. All adds a flag for all namespaces.
func (a *asking) bind(cmd *cobra.Command, all bool) {
	flags := cmd.Flags()
	flags.StringVarP(&a.namespace, "namespace", "n", "", "namespace (default: from the kubeconfig, or of the Pod)")
	if all {
		flags.BoolVarP(&a.all, "all-namespaces", "A", false, "all namespaces")
	}
	flags.StringVar(&a.context, "context", "", "context of the kubeconfig")
	flags.StringVar(&a.kubeconfig, "kubeconfig", "", "path of the kubeconfig (default: KUBECONFIG, ~/.kube/config, or the ServiceAccount in a Pod)")
	flags.StringVar(&a.at, "controller-namespace", "", "namespace of the controller (default: found by the ConfigMap reloader-meta-info)")
	a.cfg.BindDecisionFlags(flags)
	for _, name := range config.DecisionFlags() {
		flags.Lookup(name).Hidden = true // in the way of the others, and named in the text
	}
}

// bindOutput adds the flag for the form of the answer, and checks its value.
func (a *asking) bindOutput(cmd *cobra.Command, values ...string) {
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

// show prints an answer: its text, or its JSON.
func (a *asking) show(out io.Writer, text func() string, json func() (string, error)) error {
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

// cluster connects.
func (a *asking) cluster() (*inspect.Cluster, error) {
	config, err := a.config()
	if err != nil {
		return nil, err
	}
	return inspect.NewCluster(config)
}

// config returns how to connect, and sets the namespace.
func (a *asking) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	where := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.context})
	restConfig, err := where.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster configured: %w\nSet KUBECONFIG, --kubeconfig or --context", err)
	}
	own, _, err := where.Namespace()
	if err != nil {
		return nil, fmt.Errorf("read the namespace of the kubeconfig: %w", err)
	}
	a.namespace = cmp.Or(a.namespace, own)
	if a.all {
		a.namespace = ""
	}
	return quick(restConfig), nil
}

// quick has no limit of its own: the requests of one command are few.
func quick(c *rest.Config) *rest.Config {
	limit(c, config.Requests{})
	c.UserAgent = "reroll"
	c.ContentType = runtime.ContentTypeProtobuf
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return c
}

// read asks the cluster for everything once.
func (a *asking) read(ctx context.Context, cmd *cobra.Command) (*inspect.Cluster, *inspect.Objects, error) {
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

func (a *asking) settings(ctx context.Context, cmd *cobra.Command) (*inspect.Cluster, *inspect.Settings, error) {
	cluster, err := a.cluster()
	if err != nil {
		return nil, nil, err
	}
	settings, err := inspect.Ask(ctx, cluster, &a.cfg, cmd.Flags(), a.at, a.namespace, a.clock.Now())
	return cluster, settings, err
}

func unreachable(err error) error { return fmt.Errorf("read the cluster: %w", err) }

// paint is for terminals alone, unless NO_COLOR is set: https://no-color.org.
func paint(out io.Writer, getenv func(string) string) inspect.Paint {
	return inspect.Paint{On: getenv("NO_COLOR") == "" && getenv("TERM") != "dumb" && terminal(out)}
}

func terminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// exitError ends with a code of its own. Without a text, nothing is printed.
type exitError struct {
	text string
	code int
}

// Error returns the text.
func (e exitError) Error() string { return e.text }

// exitCode is 1 unless the error has another.
func exitCode(err error) int {
	if own, ok := errors.AsType[exitError](err); ok {
		return own.code
	}
	return 1
}
