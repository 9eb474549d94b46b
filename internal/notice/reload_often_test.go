package notice

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/source"
)

// A user who reads the event knows which source it is, what probably writes it, and what stops it.
func TestAWorkloadThatIsReloadedAgainAndAgainHasAnEvent(t *testing.T) {
	for kind, exclude := range map[source.Kind]string{
		source.ConfigMap:           "configmaps.exclude.reloader.stakater.com/reload",
		source.Secret:              "secrets.exclude.reloader.stakater.com/reload",
		source.SecretProviderClass: "secretproviderclasses.exclude.reloader.stakater.com/reload",
	} {
		n := TooOften(web(), Often{
			Reloads: 10, Within: 50*time.Second + 3*time.Millisecond, Source: source.Key{Kind: kind, Namespace: "shop", Name: "state"}, Changes: 9,
		})
		want := "Reloaded 10 times within 50s: " + kind.String() + " 'state' changed in 9 of these reloads. Most likely this Deployment, or another program, writes the " + kind.String() +
			" that it uses. To stop: exclude it by the annotation " + exclude + ": state on this Deployment. To reload less often: set reroll.dev/settle, such as 10m. " +
			"See https://github.com/reroll-dev/reroll/blob/main/docs/how-to/troubleshoot.md#a-workload-is-reloaded-again-and-again"
		if !n.Warning || n.Reason != "ReloadedOften" || n.Text != want {
			t.Errorf("got %+v\nwant %s", n, want)
		}
	}
	page, err := os.ReadFile("../../docs/how-to/troubleshoot.md")
	if err != nil || !strings.Contains(string(page), "\n## A workload is reloaded again and again\n") {
		t.Errorf("the page has no such section: %v", err)
	}
}

func TestTheLongestNamesLeaveRoomForTheRemedy(t *testing.T) {
	w := web()
	w.Key.Kind = strings.Repeat("k", 63)
	text := TooOften(w, Often{Reloads: 10, Source: source.Key{Kind: source.SecretProviderClass, Name: strings.Repeat("n", 200)}, Changes: 10}).Text
	if len(text) > MaxText {
		t.Errorf("%d bytes", len(text))
	}
}
