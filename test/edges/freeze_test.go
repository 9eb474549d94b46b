package edges

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/test/harness"
)

// A controller that watches all namespaces heeds the freeze of one, and only there. The freeze is
// older than the controller, which records the data of the workload nevertheless.
func TestAFreezeOfANamespaceHoldsNoOther(t *testing.T) {
	p := installGlobally(t, asShipped)
	ns, err := p.Harness.EmptyNamespace(p.ctx, "frozen")
	p.must(err)
	p.must(ns.Apply(p.ctx, shopManifest))
	p.says("No reload starts in namespace "+ns.Name+": reloads are frozen by ", "freeze", "-n", ns.Name, "--for=2h", "--reason=incident 4711")
	c := p.start(everywhere)
	p.adopted(ns, web)
	p.must(ns.Edit(p.ctx, webConfig, "colour=red"))
	p.reads(c, "reloader_workloads_held", map[string]string{"gate": "freeze"}, 1)
	p.rolled(ns, web, 0) // the workloads of p.ns are rolled meanwhile

	p.says("No freeze of namespace "+p.ns.Name+" is in force.", "thaw", "-n", p.ns.Name)
	p.rolled(ns, web, 0)
	p.says("The freeze of namespace "+ns.Name+" has ended: reloads are frozen by ", "thaw", "-n", ns.Name)
	p.must(ns.AwaitRolls(p.ctx, web, 1))
	p.must(ns.AwaitFresh(p.ctx, web, webConfig))
	p.rolled(ns, web, 1)
}

// says runs a command of an administrator, and checks what it prints, wherever lines break.
func (p *place) says(want string, words ...string) {
	p.Helper()
	binary, err := p.Binary()
	p.must(err)
	cmd := exec.CommandContext(p.ctx, binary, append(words, "--controller-namespace="+p.ns.Name)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Cluster.Kubeconfig(), harness.RaceDetector)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(strings.Join(strings.Fields(string(out)), " "), want) {
		p.Fatalf("%v: %v\n%s", words, err, out)
	}
}
