package inspect

import (
	"strings"
	"testing"
	"time"
)

// Right after an edit, nothing follows the settle period if no controller runs.
func TestAnEditWithoutAControllerDoesNotSettle(t *testing.T) {
	_, config, _ := strings.Cut(web, "---\n")
	edited := web + pod + "# then\n" + instead(t, config, "data: {text: hello}", "data: {text: moin}",
		`"80", creationTimestamp: "2026-02-01T00:00:00Z"`, `"120", creationTimestamp: "2026-03-01T11:59:58Z"`, "u-greeting", "u-other")
	const install = "nothing, until a controller runs: to install one, see https://github.com/reroll-dev/reroll/blob/main/docs/how-to/install.md"
	for about, tc := range map[string]struct {
		heard         time.Time
		released      bool
		none          bool
		state         State
		detail, steps string
	}{
		"it runs": {
			heard: noon.Add(-2 * time.Second), state: Waiting,
			detail: "to settle (1s): ConfigMap shop/greeting changed", steps: "Reroll rolls it 1s after the last change, and at most 10s after the first",
		},
		"it released its Lease": {
			released: true, state: OutOfDate,
			detail: "since 2s ago: ConfigMap shop/greeting changed, and no controller runs", steps: install,
		},
		"it was killed": {
			heard: noon.Add(-time.Hour), state: OutOfDate,
			detail: "since 2s ago: ConfigMap shop/greeting changed, and the controller was last active 60m ago", steps: install,
		},
		"none was found": {
			none: true, state: Waiting,
			detail: "to settle (1s): ConfigMap shop/greeting changed; no controller was found",
			steps:  "Reroll rolls it 1s after the last change, and at most 10s after the first, if a controller runs: none was found",
		},
	} {
		t.Run(about, func(t *testing.T) {
			s := tell(t, edited)
			settings := s.objects.settings
			settings.Heard, settings.Silent = tc.heard, tc.released
			if tc.none {
				settings.Controller, settings.Assumed = "", "no ConfigMap has the label"
			}
			x, err := s.objects.Explain("shop", "deployment/web", "", s.running, noon)
			if err != nil {
				t.Fatal(err)
			}
			if x.State != tc.state || x.Detail != tc.detail || x.next() != tc.steps {
				t.Errorf("%s %s; next: %s\nwant %s %s; next: %s", x.State, x.Detail, x.next(), tc.state, tc.detail, tc.steps)
			}
		})
	}
}

// A workload that has no ledger yet waits for a controller, so status reports that none runs.
func TestAdoptionWithoutAController(t *testing.T) {
	s := tell(t, "# ledger: none\n"+web+pod)
	s.objects.settings.Silent = true
	x, err := s.objects.Explain("shop", "deployment/web", "", s.running, noon)
	if err != nil {
		t.Fatal(err)
	}
	if want := "for a controller to record its sources; no controller runs"; x.Detail != want || !strings.HasPrefix(x.next(), "nothing, until a controller runs") {
		t.Errorf("%s %s; next: %s", x.State, x.Detail, x.next())
	}
}

func TestWhatAStatusAwaits(t *testing.T) {
	for about, tc := range map[string]struct {
		text string
		set  func(*Settings)
		want string
	}{
		"nothing":        {web, func(s *Settings) { s.Heard = noon }, ""},
		"a workload":     {"# ledger: none\n" + web, func(s *Settings) { s.Heard = noon }, "1 of 1 workload to be up to date"},
		"the controller": {web, func(s *Settings) { s.Silent = true }, "the controller to run (none is running: the last one, in namespace reroll, has ended)"},
		"an unknown one": {web, func(s *Settings) { s.unsure = "you may not read its Lease" }, "the controller to run (unknown whether it runs: you may not read its Lease)"},
		"one not found":  {web, func(s *Settings) { s.Controller, s.Assumed, s.Unmet = "", "there is no ConfigMap a/b", true }, "the controller to run (it was not found: there is no ConfigMap a/b)"},
		"its settings":   {web, func(s *Settings) { s.Heard, s.Assumed, s.Unmet = noon, "there is no ConfigMap a/b", true }, "the settings of the controller (there is no ConfigMap a/b)"},
		"both":           {"# ledger: none\n" + web, func(s *Settings) { s.Silent = true }, "the controller to run (none is running: the last one, in namespace reroll, has ended) and 1 of 1 workload to be up to date"},
		"a permission":   {"# unread: deployments\n" + web, func(s *Settings) { s.Heard = noon }, "the permission to list deployments"},
	} {
		t.Run(about, func(t *testing.T) {
			s := tell(t, tc.text)
			tc.set(s.objects.settings)
			status := s.status(t, "shop")
			status.RequireController = true
			if got := status.Awaits(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if (status.Awaits() == "") != (status.Code() == CodeUpToDate) {
				t.Errorf("exit code %d, and it awaits %q", status.Code(), status.Awaits())
			}
		})
	}
}
