// Command reroll rolls Kubernetes workloads when the ConfigMaps and Secrets they use change.
package main

import (
	"os"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[0], os.Args[1:], buildinfo.Version(), os.Getenv, os.Stdout, os.Stderr))
}
