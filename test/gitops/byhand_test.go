package gitops

import (
	"slices"
	"testing"

	"github.com/reroll-dev/reroll/test/harness"
)

// An edit by hand that self-heal puts back at once rolls nothing, as the demo shows (see the folder
// beside). One that is put back when Reroll has rolled for it is a change, and putting it back is
// another.
func TestAnEditByHandThatIsPutBackLater(t *testing.T) {
	p := newPlace(t)
	source, web := harness.Ref{Kind: "configmap", Name: "settings"}, harness.Ref{Kind: "deployment", Name: "web"}
	repo := p.newRepository()
	revision := repo.commit("web", files{"web.yaml": deploymentOf(), "settings.yaml": greeting("hello")})
	app := p.deploy(repo, automated(false))
	app.awaitSynced(revision)
	p.must(p.ns.AwaitReady(p.ctx, web))
	p.start()

	p.must(p.ns.Edit(p.ctx, source, "greeting=by hand"))
	p.must(p.ns.AwaitRolls(p.ctx, web, 1))
	p.must(p.ns.AwaitFresh(p.ctx, web, source))
	if differ := app.refresh().OutOfSync(); !slices.Equal(differ, []string{source.String()}) {
		t.Errorf("Argo CD finds %q different from Git, and the edit was to %s", differ, source)
	}

	app.sync(revision)
	p.must(p.ns.AwaitRolls(p.ctx, web, 2))
	p.must(p.ns.AwaitFresh(p.ctx, web, source))
	p.must(p.ns.Quiet(p.ctx))
	rolls, err := p.ns.Rolls(p.ctx, web)
	p.must(err)
	if rolls != 2 {
		t.Errorf("%s has rolled %d times, want once and once back", web, rolls)
	}
	app.awaitSynced(revision)
}
