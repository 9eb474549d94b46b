package gitops

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/test/harness"
)

// Flux starts no program of others, so what is stamped is what it fetches, as docs/how-to/stamp.md
// says: here by the line for CI.
func TestFluxBringsWhatWasStampedBefore(t *testing.T) {
	p := newPlace(t)
	d := flux()(p)
	binary, err := p.Binary()
	p.must(err)
	web := harness.Ref{Kind: "deployment", Name: "web"}
	folder := p.TempDir()
	brings := func(settings string) (stamp string, rolls int) {
		t.Helper()
		file := filepath.Join(folder, "web.yaml")
		p.must(os.WriteFile(file, []byte(settings+"---"+stampedWeb), 0o600))
		if told, err := exec.CommandContext(p.ctx, binary, "stamp", "--missing=error", "--in-place", file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, told)
		}
		text, err := os.ReadFile(file)
		p.must(err)
		p.must(d.apply(string(text)))
		p.must(p.ns.AwaitReady(p.ctx, web))
		rolls, err = p.ns.Rolls(p.ctx, web)
		p.must(err)
		present, err := p.Admin.AppsV1().Deployments(p.ns.Name).Get(p.ctx, "web", metav1.GetOptions{})
		p.must(err)
		return present.Spec.Template.Annotations["checksum/config"], rolls
	}
	first, _ := brings(stampedSettings)
	if !strings.HasPrefix(first, digest.StampPrefix) {
		t.Fatalf("the stamp is %q", first)
	}
	if stamp, rolls := brings(strings.Replace(stampedSettings, "once", "twice", 1)); stamp != first || rolls != 0 {
		t.Errorf("another label of the ConfigMap made %s of %s, and %d rollouts", stamp, first, rolls)
	}
	second, rolls := brings(strings.Replace(stampedSettings, "hello", "good morning", 1))
	if second == first || rolls != 1 {
		t.Errorf("other data made %s of %s, and %d rollouts", second, first, rolls)
	}
	p.start()
	third, _ := brings(strings.Replace(stampedSettings, "hello", "good night", 1))
	p.must(p.ns.Quiet(p.ctx))
	if rolls, err := p.ns.Rolls(p.ctx, web); err != nil || third == second || rolls != 2 {
		t.Errorf("with the controller beside it: %s of %s, and %d rollouts in all, %v", third, second, rolls, err)
	}
}
