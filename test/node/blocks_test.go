package node_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/reroll-dev/reroll/test/harness"
)

// runAllBlocks runs the blocks below a heading in their order. What a console block shows is awaited,
// because a Pod that ends may still answer.
func (p *place) runAllBlocks(run func(string) string, page, heading string) {
	p.t.Helper()
	_, section, found := strings.Cut(page, heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		p.t.Fatalf("the page has no heading %q", heading)
	}
	shown := 0
	for i, block := range strings.Split(section, "```") {
		language, text, _ := strings.Cut(block, "\n")
		switch {
		case i%2 == 0: // between the blocks
		case strings.HasPrefix(language, "sh"):
			run(strings.NewReplacer("--timeout=1m", "--timeout=8m", "--wait 1m", "--wait 8m").Replace(text))
		default:
			for _, one := range strings.Split(text, "$ ")[1:] {
				command, output, _ := strings.Cut(one, "\n")
				p.awaitShown(run, command, strings.TrimSpace(output))
				shown++
			}
		}
	}
	if shown == 0 {
		p.t.Fatalf("the page shows nothing below %q", heading)
	}
}

// awaitShown waits until a command prints what the page shows; … stands for the rest. The image of the
// nodes has its printenv in its only program, and the namespace is that of the test.
func (p *place) awaitShown(run func(string) string, command, want string) {
	p.t.Helper()
	command = strings.Replace(command, "-- printenv", "-- /reroll printenv", 1)
	want = strings.ReplaceAll(want, " default/", " "+p.Name+"/")
	start, rest := strings.CutSuffix(want, "…")
	p.must(harness.Await(p.ctx, fmt.Sprintf("%s to show %q", command, want), func(context.Context) error {
		got := strings.TrimSpace(run(command + " 2>&1 || true"))
		if rest && (got == "" || !strings.HasPrefix(got, start)) || !rest && got != want {
			return fmt.Errorf("it shows %q", got)
		}
		return nil
	}))
}

// awaitProse waits until a command that a sentence of a tutorial names prints a line, and no longer
// another one, which Pods that end have printed.
func (p *place) awaitProse(run func(string) string, page, command, want, former string) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "tutorials", page))
	p.must(err)
	if !strings.Contains(string(text), "`"+command+"`") {
		p.t.Fatalf("%s does not name the command %s", page, command)
	}
	p.must(harness.Await(p.ctx, command+" to show "+want, func(context.Context) error {
		if got := run(command + " 2>&1 || true"); !strings.Contains(got, want) || strings.Contains(got, former) {
			return fmt.Errorf("it shows %q", got)
		}
		return nil
	}))
}
