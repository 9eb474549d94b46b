package edges

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// labelled gives a namespace a label, or takes it away with null.
func (p *place) labelled(ns *harness.Namespace, team string) {
	p.Helper()
	_, err := p.Admin.CoreV1().Namespaces().Patch(p.ctx, ns.Name, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"team":`+team+`}}}`), metav1.PatchOptions{})
	p.must(err)
}

func TestNamespacesThatAreSelectedAndLeftOut(t *testing.T) {
	p := installGlobally(t, asShipped)
	p.labelled(p.ns, `"a"`)
	left, err := p.Harness.NamedNamespace(p.ctx, "left-out")
	p.must(err)
	p.labelled(left, `"a"`)
	p.must(left.Apply(p.ctx, shopManifest))
	ns, err := p.Harness.EmptyNamespace(p.ctx, "shop")
	p.must(err)
	p.must(ns.Apply(p.ctx, shopManifest))
	p.start(everywhere, "--namespace-selector=team:*", "--namespaces-to-ignore=left-out, nowhere")

	// Nothing is written outside.
	p.must(left.Edit(p.ctx, webConfig, "colour=red"))
	p.rolled(left, web, 0)
	p.rolled(ns, web, 0)
	if got := append(p.writesIn(ns.Name), p.writesIn(left.Name)...); len(got) > 0 {
		t.Fatalf("the controller has written: %v", got)
	}

	// It is selected: that rolls nothing, and edits count.
	p.labelled(ns, `"b"`)
	p.adopted(ns, web)
	p.rolled(ns, web, 0)
	p.must(ns.Edit(p.ctx, webConfig, "colour=red"))
	p.must(ns.AwaitRolls(p.ctx, web, 1))
	p.must(ns.AwaitFresh(p.ctx, web, webConfig))

	// It is not any more. That rolls nothing either, and nothing is rolled.
	p.labelled(ns, "null")
	p.rolled(ns, web, 1)
	p.must(ns.Edit(p.ctx, webConfig, "colour=blue"))
	p.rolled(ns, web, 1)

	// It is again, and its pods have the old content.
	p.labelled(ns, `"a"`)
	p.must(ns.AwaitRolls(p.ctx, web, 2))
	p.must(ns.AwaitFresh(p.ctx, web, webConfig))
	p.rolled(ns, web, 2)
	p.rolled(left, web, 0)
	if got := p.writesIn(left.Name); len(got) > 0 {
		t.Fatalf("the controller has written into the namespace that is left out: %v", got)
	}
}
