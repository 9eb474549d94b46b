package web

import (
	"cmp"

	"github.com/reroll-dev/reroll/internal/inspect"
)

// onCluster returns a command to paste for one cluster: the kubeconfig of the reader may select another.
func (s *site) onCluster(c Cluster, command string) string {
	return inspect.OnContext(command, cmp.Or(c.Name(), s.Context))
}
