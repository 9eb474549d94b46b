package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/test/harness"
)

// The examples run here as they are. Their image cannot be pulled; the nodes have test/app under
// its name.
func (p *place) applyExample(path ...string) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "examples"}, path...)...))
	p.must(err)
	p.apply(string(text))
}

// edit changes a key of a source, as kubectl edit does.
func (p *place) edit(kind, name, change string) {
	p.t.Helper()
	p.must(p.Edit(p.ctx, harness.Ref{Kind: kind, Name: name}, change))
}

// rolled fails unless a Deployment has rolled this often, after all that came before was decided.
func (p *place) rolled(name string, times int) {
	p.t.Helper()
	p.must(p.Quiet(p.ctx))
	p.must(p.AwaitRolls(p.ctx, deployment(name), times))
}

// variable is what kubectl exec shows of the environment of a Deployment's process.
func (p *place) variable(name, variable string) string {
	p.t.Helper()
	return strings.TrimSpace(p.kubectl("exec", "deployment/"+name, "--", "/reroll", "printenv", variable))
}

func (p *place) mustBe(what, got, want string) {
	p.t.Helper()
	if got != want {
		p.t.Errorf("%s is %q, want %q", what, got, want)
	}
}

// TestTheTutorialAboutSourcesToTheLetter runs the blocks of docs/tutorials/select-sources.md in their
// order, and compares what it prints. After each part, the Deployment has rolled as often as the page
// says.
func TestTheTutorialAboutSourcesToTheLetter(t *testing.T) {
	t.Parallel()
	p := newMarkedPlace(t)
	p.startController()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tutorials", "select-sources.md"))
	p.must(err)
	run := p.reader()
	for _, part := range []struct {
		heading string
		rolls   int
	}{
		{"## 1. All sources that it references", 2},
		{"## 2. Only sources with an annotation of their own", 3},
		{"## 3. Sources by name", 4},
		{"## 4. A Secret that no container uses", 5},
	} {
		p.runAllBlocks(run, string(page), part.heading)
		p.rolled("web", part.rolls)
	}
	if marker := p.variable("web", "STAKATER_LICENCE_SECRET"); !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(marker) {
		t.Errorf("the change marker of the Secret is %q", marker)
	}
}

// examples/owned-secrets: another controller writes a Secret again and again.
func TestAProcessKeepsRunningWhileItsSecretIsWrittenWithTheSameData(t *testing.T) {
	t.Parallel()
	p := newMarkedPlace(t)
	p.startController()
	p.applyExample("owned-secrets", "owned-secrets.yaml")
	p.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: recipe}\n")
	p.must(p.AwaitReady(p.ctx, deployment("web")))
	p.awaitLedger("web")
	before := p.startTimes("web")
	login := harness.Ref{Kind: "secret", Name: "login"}
	for range 3 {
		p.must(p.Rewrite(p.ctx, login, "configmap/recipe", "password=first"))
	}
	p.rolled("web", 0)
	p.mustBe("the containers and their start times", p.startTimes("web"), before)

	p.must(p.Rewrite(p.ctx, login, "configmap/recipe", "password=second"))
	p.must(p.AwaitRolls(p.ctx, deployment("web"), 1))
	p.allPrinted("web", "env PASSWORD=second")
}

// startTimes are those of the containers of a Deployment.
func (p *place) startTimes(name string) string {
	p.t.Helper()
	var all []string
	for _, pod := range p.podsOf(name) {
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Running == nil {
				p.t.Fatalf("container %s of pod %s does not run: %+v", c.Name, pod.Name, c.State)
			}
			all = append(all, fmt.Sprintf("%s since %s", c.ContainerID, c.State.Running.StartedAt))
		}
	}
	return strings.Join(all, ", ")
}
