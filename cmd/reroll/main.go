// Command reroll rolls Kubernetes workloads when the ConfigMaps and Secrets they use change.
package main

import (
	"os"

	"github.com/reroll-dev/reroll/internal/cli"
)

// version is set by the linker.
var version = "0.1.0-dev"

func main() {
	os.Exit(cli.Main(os.Args[0], os.Args[1:], version, os.Getenv, os.Stdout, os.Stderr))
}
