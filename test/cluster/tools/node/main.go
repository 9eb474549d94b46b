// Command node runs nodes of a throwaway cluster: kubelet and containerd, each node in namespaces
// of its own.
//
// It has three roles. The fabric is the network between the nodes and the parent of all of them. A
// node is process 1 of its namespaces. The broom outlives the program that uses the cluster, and
// removes the control groups that the kernel keeps when all else is gone.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

type config struct {
	dir    string // of the cluster: certificates, kubeconfigs, logs and sockets
	nodes  int
	index  int    // of this node, from 1
	cgroup string // the name of the control group that holds those of the nodes
	tools  string // the folder of the kubelet and the CNI plugins
	images words  // archives
	pause  string // the image that holds the namespaces of a pod
}

type words []string

func (w *words) String() string { return strings.Join(*w, " ") }

func (w *words) Set(word string) error {
	*w = append(*w, word)
	return nil
}

func (c *config) name() string { return "node-" + strconv.Itoa(c.index) }

func (c *config) path(name string) string { return filepath.Join(c.dir, name) }

func main() {
	// The kernel ties a child to the thread that started it. The main thread lives as long as the
	// process.
	runtime.LockOSThread()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("name a role: fabric, node or broom")
	}
	var c config
	flags := flag.NewFlagSet("node "+args[0], flag.ContinueOnError)
	flags.StringVar(&c.dir, "dir", "", "")
	flags.IntVar(&c.nodes, "nodes", 0, "")
	flags.IntVar(&c.index, "index", 0, "")
	flags.StringVar(&c.cgroup, "cgroup", "", "")
	flags.StringVar(&c.tools, "tools", "", "")
	flags.Var(&c.images, "image", "")
	flags.StringVar(&c.pause, "pause", "", "")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "fabric":
		return runFabric(&c, args[1:])
	case "node":
		return runNode(&c)
	case "broom":
		return sweep(c.cgroup)
	default:
		return fmt.Errorf("there is no role %q: name fabric, node or broom", args[0])
	}
}
