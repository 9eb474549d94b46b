package report

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/source"
)

// A notice names its object as all other alerts do, and has the text of the event.
func TestANoticeThatIsAnAlertNamesItsObject(t *testing.T) {
	s := connect(t, nil)
	src := source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "ca-bundle"}}
	s.Notify(notice.Stopped(&src, "deployment/canary does not start"))
	s.Notify(notice.Halted(web(), "10 of the last 20 reloads did not complete"))
	s.Notify(notice.HeldByHalt(web(), "10 of the last 20 reloads did not complete"))
	s.run().told(2)
	for i, begins := range []string{
		"Reloader reports WavesStopped on ca-bundle of type ConfigMap in namespace shop: No further workload is rolled with the current data: deployment/canary does not start.",
		"Reloader reports ReloadsHalted on web of type Deployment in namespace shop: No further reload starts: 10 of the last 20 reloads did not complete.",
	} {
		if letters := s.far.got(); len(letters) != 2 || !strings.HasPrefix(letters[i].text, begins) {
			t.Errorf("got %v, want %q", letters, begins)
		}
	}
}
