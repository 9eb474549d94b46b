// The programs of Argo CD that a test needs, in one binary, since linking them apart takes as long
// again: the application-controller, the repo-server, the server of a config management plugin, and
// a Redis between them.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
	appcontroller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	cmpserver "github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("which program: application-controller, repo-server, cmp-server or redis?")
	}
	switch args[0] {
	case "application-controller":
		command := appcontroller.NewCommand()
		command.SetArgs(args[1:])
		return command.Execute()
	case "repo-server":
		command := reposerver.NewCommand()
		command.SetArgs(args[1:])
		return command.Execute()
	case "cmp-server":
		command := cmpserver.NewCommand()
		command.SetArgs(args[1:])
		return command.Execute()
	case "redis":
		return redis(args[1])
	default:
		return fmt.Errorf("there is no program %q", args[0])
	}
}

// redis serves until it is killed. Its clock stands still unless it is pushed, and what Argo CD
// writes is to expire.
func redis(address string) error {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(address); err != nil {
		return err
	}
	for range time.Tick(time.Second) {
		server.FastForward(time.Second)
	}
	return nil
}
