package node_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheFirstTutorialToTheLetter runs the blocks of docs/tutorials/getting-started.md between the
// installation and the end, and compares what the processes print. That the page has the output of
// other commands right is compared by test/docs.
func TestTheFirstTutorialToTheLetter(t *testing.T) {
	t.Parallel()
	p := newMarkedPlace(t)
	p.startController()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tutorials", "getting-started.md"))
	p.must(err)
	run := p.reader()

	p.runBlocks(run, string(page), "## 3. Apply an example")
	p.printedByTwo(p.kubectl("logs", "--selector=app=web"), "env GREETING=hello")
	for _, name := range []string{"web", "web-not-opted-in"} {
		p.printedByTwo(p.logsOfRunning(name), "file /etc/greeting/text=hello")
	}

	p.runBlocks(run, string(page), "## 4. Edit the ConfigMap")
	p.rolled("web", 1)
	p.awaitProse(run, "without-a-cluster.md", "kubectl logs -l app=web", "env GREETING=good morning", "env GREETING=hello")
	p.printedByTwo(p.logsOfRunning("web"), "env GREETING=good morning")
	p.printedByTwo(p.logsOfRunning("web"), "file /etc/greeting/text=good morning")
	p.rolled("web-not-opted-in", 0)
	p.printedByTwo(p.logsOfRunning("web-not-opted-in"), "env GREETING=hello")
	p.mustBe("the variable of the process that was not opted in", p.variable("web-not-opted-in", "GREETING"), "hello")
	why, err := p.reroll("why", "deployment/web-not-opted-in")
	p.must(err)
	if !strings.Contains(why, "is not opted in") {
		t.Errorf("the reason why the other Deployment did not roll:\n%s", why)
	}

	p.runBlocks(run, string(page), "## 5. Find out why the other Deployment did not roll")
	p.awaitLedger("web-not-opted-in")
	p.rolled("web-not-opted-in", 0)
	p.edit("configmap", "greeting", "text=good evening")
	for name, times := range map[string]int{"web": 2, "web-not-opted-in": 1} {
		p.must(p.AwaitRolls(p.ctx, deployment(name), times))
		p.printedByTwo(p.logsOfRunning(name), "env GREETING=good evening")
	}
}

// reader returns a shell of a user whose context has the namespace of the test, in the folder of
// the repository.
func (p *place) reader() func(script string) string {
	p.t.Helper()
	folder := p.t.TempDir()
	config, err := os.ReadFile(shared.cluster.Kubeconfig())
	p.must(err)
	kubeconfig := filepath.Join(folder, "kubeconfig")
	p.must(os.WriteFile(kubeconfig, config, 0o600))
	p.must(os.Symlink(shared.clients.Kubectl, filepath.Join(folder, "kubectl")))
	p.must(os.Symlink(shared.binary, filepath.Join(folder, "reroll")))
	run := func(script string) string {
		p.t.Helper()
		cmd := exec.CommandContext(p.ctx, "bash", "-euo", "pipefail", "-c", script)
		cmd.Dir = filepath.Join("..", "..")
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+folder+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			p.t.Fatalf("%s: %v\n%s", script, err, out)
		}
		return string(out)
	}
	run("kubectl config set-context --current --namespace=" + p.Name)
	return run
}

// runBlocks runs the blocks of commands below a heading. Their bounds of time are those of a user.
func (p *place) runBlocks(run func(string) string, page, heading string) {
	p.t.Helper()
	_, section, found := strings.Cut(page, heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := strings.Split(section, "```sh")
	if !found || len(blocks) < 2 {
		p.t.Fatalf("the page has no commands below %q", heading)
	}
	for _, block := range blocks[1:] {
		_, script, _ := strings.Cut(block, "\n")
		script, _, _ = strings.Cut(script, "```")
		run(strings.ReplaceAll(script, "--timeout=1m", "--timeout=8m"))
	}
}

// logsOfRunning leaves out Pods that end, which kubectl logs would show, too.
func (p *place) logsOfRunning(name string) string {
	p.t.Helper()
	var all strings.Builder
	for _, pod := range p.podsOf(name) {
		all.WriteString(p.kubectl("logs", pod.Name))
	}
	return all.String()
}

// printedByTwo fails unless two processes have printed this variable, and no other has another
// value of it.
func (p *place) printedByTwo(logs, line string) {
	p.t.Helper()
	variable, _, _ := strings.Cut(line, "=")
	var printed []string
	for each := range strings.Lines(logs) {
		if strings.HasPrefix(each, variable+"=") {
			printed = append(printed, strings.TrimSuffix(each, "\n"))
		}
	}
	if len(printed) != 2 || printed[0] != line || printed[1] != line {
		p.t.Errorf("the processes have printed %q, want two times %q", printed, line)
	}
}
