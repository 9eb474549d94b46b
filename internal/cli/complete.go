package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/inspect"
)

// completing limits how long a user waits after pressing the tab key.
const completing = 3 * time.Second

// complete adds the completion of names from the selected cluster, by the position of an argument.
// A command whose arguments are files completes no names.
func (a *readingCommand) complete(cmd *cobra.Command, arguments ...[]string) {
	complete := func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(arguments) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.names(cmd.Context(), arguments[len(args)], begun)
	}
	if len(arguments) > 0 {
		cmd.ValidArgsFunction = complete
	}
	_ = cmd.RegisterFlagCompletionFunc("namespace", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return a.names(cmd.Context(), []string{"namespaces"}, begun)
	}) // fails if the command has no such flag
	_ = cmd.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = a.kubeconfig
		raw, err := rules.Load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var all []string
		for name := range raw.Contexts {
			all = append(all, name)
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	})
}

// names lists the names of some resources. If a request fails, nothing is completed, because an
// error message would disturb the command line.
func (a *readingCommand) names(ctx context.Context, resources []string, begun string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completing)
	defer cancel()
	connection, err := a.config()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	found, err := inspect.Names(ctx, connection, a.namespace, resources)
	if err != nil && len(found) == 0 {
		return nil, cobra.ShellCompDirectiveError
	}
	var fitting []string
	for _, name := range found {
		if strings.HasPrefix(name, begun) {
			fitting = append(fitting, name)
		}
	}
	return fitting, cobra.ShellCompDirectiveNoFileComp
}

// completeValues adds the completion of flags that accept one of several words.
func completeValues(cmd *cobra.Command) {
	for name, values := range map[string][]string{
		"approval":               {"required"},
		"ignored-workload-types": {"jobs", "cronjobs"},
		"is-Argo-Rollouts":       {"true", "false", config.Auto},
		"is-argo-rollouts":       {"true", "false", config.Auto},
		"keys":                   {"all", "used"},
		"log-format":             {"text", "json"},
		"log-level":              {"trace", "debug", "info", "warn", "error", "fatal", "panic"},
		"mode":                   {"reload", "notify"},
		"on-revert":              {"stop", "restart"},
		"reload-strategy":        {"auto", "env-vars", "annotations"},
		"resources-to-ignore":    {"configmaps", "secrets"},
		"secret-marks":           {"keyed", "sha1"},
	} {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}
