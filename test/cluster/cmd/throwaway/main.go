// Command throwaway starts and ends a Kubernetes cluster on loopback, for trying things out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/reroll-dev/reroll/test/cluster"
)

const usage = `usage: throwaway COMMAND

  build   make the programs, if they are not there yet
          also those named behind it: argo-cd, argo-rollouts, real-nodes, secrets-store, clients (kubectl and Helm), flux
  check   report what is missing on this machine for nodes that run containers
  up      start a cluster and leave it running: etcd, API server, controller manager, scheduler, and kwok for
          nodes and pods (pods become Ready without running a container)
          --nodes N  how many nodes (2)    --port N  the API server's port (a free one)
          --real     nodes that run containers: a kubelet and containerd in the place of kwok. They need root
  down    end it
`

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "throwaway: %v\n", err)
		code = max(code, 1)
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
		if _, err := cluster.Build(ctx, os.Stderr); err != nil {
			return 0, err
		}
		return 0, cluster.BuildOther(ctx, os.Stderr, args[1:]...)
	case "check":
		return 0, cluster.RealNodesSupported()
	case "up":
		// Looked at here too, so that a mistake is told before a process is started.
		if _, err := options(args[1:]); err != nil {
			return 2, err
		}
		return cluster.Background(append([]string{"keep"}, args[1:]...)...)
	case "keep":
		return 0, keep(ctx, args[1:])
	case "down":
		return 0, down(ctx)
	case "-h", "--help", "help":
		fmt.Print(usage)
		return 0, nil
	default:
		fmt.Fprintf(os.Stderr, "throwaway: no command %q\n\n%s", args[0], usage)
		return 2, nil
	}
}

// down ends the demo first: it may run on the cluster, and cleans up after itself there.
func down(ctx context.Context) error {
	up := false
	for _, what := range []string{cluster.KeptDemo, cluster.KeptCluster} {
		kept, err := cluster.Down(ctx, what)
		switch {
		case err == nil:
			up = true
			fmt.Printf("The %s of process %d has ended.\n", what, kept.PID)
		case !errors.Is(err, cluster.ErrNoneKept):
			return err
		case err != cluster.ErrNoneKept: //nolint:errorlint // wrapped, it says more
			up = true
			fmt.Printf("No %s is up: %v\n", what, err)
		}
	}
	if !up {
		fmt.Println("No cluster is up.")
	}
	return nil
}

// options tells mistakes in the words of make, which is how this is called.
func options(args []string) (cluster.Options, error) {
	opts := cluster.Options{Progress: os.Stderr}
	var nodes, port string
	flags := flag.NewFlagSet("throwaway up", flag.ContinueOnError)
	flags.StringVar(&nodes, "nodes", "2", "how many nodes")
	containers := flags.Bool("real", false, "nodes that run containers")
	flags.StringVar(&port, "port", "0", "the API server's port; 0 takes a free one")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	if flags.NArg() > 0 {
		return opts, fmt.Errorf("%q means nothing here", flags.Args())
	}
	var err error
	if opts.Port, err = strconv.Atoi(port); err != nil || opts.Port < 0 || opts.Port > 65535 {
		return opts, fmt.Errorf("PORT=%s is no port: give a number from 1 to 65535 (make cluster-up PORT=6443), or leave it out and a free one is found", port)
	}
	if opts.Nodes, err = strconv.Atoi(nodes); err != nil || opts.Nodes < 0 {
		return opts, fmt.Errorf("NODES=%s is no number of nodes: give 0 or more (make cluster-up NODES=3), or leave it out for 2", nodes)
	}
	switch {
	case *containers && opts.Nodes == 0:
		return opts, errors.New("NODES=0 and REAL=1 exclude each other: give a number of nodes (make cluster-up NODES=1 REAL=1), or leave REAL out")
	case *containers:
		opts.RealNodes, opts.Nodes = opts.Nodes, 0
	case opts.Nodes == 0:
		opts.Nodes = cluster.NoNodes
	}
	return opts, nil
}

// keep is the process behind up: it owns the cluster until it is told to end.
func keep(ctx context.Context, args []string) error {
	opts, err := options(args)
	if err != nil {
		return err
	}
	keeper, err := cluster.Keep(cluster.KeptCluster)
	if err != nil {
		return err
	}
	defer keeper.Close()
	began := time.Now()
	c, err := cluster.Start(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { _ = c.Stop() }()
	containers := "Its pods run no containers."
	if opts.RealNodes > 0 {
		containers = fmt.Sprintf("Its pods run containers, of the images %s.", strings.Join(cluster.Images(), " and "))
	}
	fmt.Printf("A Kubernetes cluster is up, after %.1f s. %s To use it:\n  export KUBECONFIG=%s\nTo end it: make cluster-down\n",
		time.Since(began).Seconds(), containers, c.Kubeconfig())
	if err := keeper.Leave(0, cluster.Kept{Kubeconfig: c.Kubeconfig(), Logs: c.Dir()}); err != nil {
		return err
	}
	if err := c.Broken(ctx); err != nil {
		return keeper.Ended(err)
	}
	return nil
}
