// Command throwaway starts and ends a Kubernetes cluster on loopback, for trying things out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/reroll-dev/reroll/test/cluster"
)

const usage = `usage: throwaway COMMAND

  build   make the programs, if they are not there yet
  up      start a cluster and leave it running: etcd, API server, controller manager, scheduler, and kwok for
          nodes and pods (pods become Ready without running a container)
          --nodes N  how many nodes (2)    --port N  the API server's port (a free one)
  down    end it
`

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "throwaway: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return 2, nil
	}
	switch args[0] {
	case "build":
		_, err := cluster.Build(ctx, os.Stderr)
		return 0, err
	case "up":
		// Looked at here too, so that a mistake is told before a process is started.
		if _, code := options(args[1:]); code != 0 {
			return code, nil
		}
		return cluster.Background(append([]string{"keep"}, args[1:]...)...)
	case "keep":
		return 0, keep(ctx, args[1:])
	case "down":
		kept, err := cluster.Down(ctx)
		if errors.Is(err, cluster.ErrNoneKept) {
			fmt.Println("No cluster is up.")
			return 0, nil
		}
		if err == nil {
			fmt.Printf("The cluster of process %d has ended.\n", kept.PID)
		}
		return 0, err
	case "-h", "--help", "help":
		fmt.Print(usage)
		return 0, nil
	default:
		fmt.Fprintf(os.Stderr, "throwaway: no command %q\n\n%s", args[0], usage)
		return 2, nil
	}
}

func options(args []string) (cluster.Options, int) {
	opts := cluster.Options{Progress: os.Stderr}
	flags := flag.NewFlagSet("throwaway up", flag.ContinueOnError)
	flags.IntVar(&opts.Nodes, "nodes", 2, "how many nodes")
	flags.IntVar(&opts.Port, "port", 0, "the API server's port; 0 takes a free one")
	if err := flags.Parse(args); err != nil {
		return opts, 2
	}
	if opts.Nodes <= 0 {
		opts.Nodes = cluster.NoNodes
	}
	return opts, 0
}

// keep is the process behind up: it owns the cluster until it is told to end.
func keep(ctx context.Context, args []string) error {
	opts, _ := options(args)
	keeper, err := cluster.Keep()
	if err != nil {
		return err
	}
	defer keeper.Close()
	c, err := cluster.Start(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { _ = c.Stop() }()
	fmt.Printf("A Kubernetes cluster is up. Its pods run no containers. To use it:\n  export KUBECONFIG=%s\nTo end it: make cluster-down\n", c.Kubeconfig())
	if err := keeper.Leave(0, cluster.Kept{Kubeconfig: c.Kubeconfig(), Logs: c.Dir()}); err != nil {
		return err
	}
	keeper.Wait()
	return nil
}
