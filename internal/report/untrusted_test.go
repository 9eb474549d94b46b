package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
)

// hostile is what a tenant may write into an image name or a message: mentions, links, images and
// formatting of each chat, a forged line, and what steers a terminal or reorders text.
const hostile = "a & <!channel> <!here|x> <@U012AB3CD> <#C0123> <http://evil.example|Sign in> <at>all</at> <users/all> [Sign in](https://evil.example) " +
	"![x](https://evil.example/x.png) <img src=x> https://evil.example/x *b* _i_ ~s~ `c` \n- fine: all is well\r\n\x1b[31mred\x07 \u202egnp\u2028end"

// told is the text that a chat gets about a workload with such a message, image and field manager.
func hostileAlert(t *testing.T, sink string) string {
	t.Helper()
	s := connect(t, nil, func(o *AlertOptions) { o.Sink, o.Info = sink, "<!subteam^S1> prod" })
	s.NotRolled(web(), rollout.Outcome{Cause: rollout.CauseRefused, Changed: cfg(), Old: 1, All: 1, Trouble: rollout.Trouble{Message: hostile}})
	s.NotRolled(web(), rollout.Outcome{Cause: rollout.CauseImagePull, Changed: cfg(), Old: 1, All: 1, Pod: "web-7d", Trouble: rollout.Trouble{Image: hostile[:200], Reason: "ErrImagePull"}})
	for _, revert := range []reload.Revert{{Writer: hostile[:100]}, {Owner: `<!channel> "` + hostile[:100] + `"`}} {
		revert.Source.Name = "cfg"
		s.Reverted(web(), reload.Decision{Action: reload.Reload, Reverted: &revert})
	}
	class := reloadFor("<!channel>", "greeting")
	class.Changes[1].Source.Key.Name = "<!channel>"
	s.Reloaded(web(), class, time.Millisecond)
	host := reloadFor("www.evil.example", "greeting")
	host.Changes[1].Source.Key.Name = "evil.example."
	s.Reloaded(web(), host, time.Millisecond)
	host = reloadFor("evil.example.1", "greeting")
	s.Reloaded(web(), host, time.Millisecond)
	s.run().told(7)
	var all []string
	for _, letter := range s.far.got() {
		if letter.contentType != "application/json" {
			all = append(all, letter.text)
			continue
		}
		var message struct {
			Text        string
			Attachments []struct{ Text string }
		}
		if err := json.Unmarshal([]byte(letter.text), &message); err != nil {
			t.Fatal(err)
		}
		if len(message.Attachments) > 0 {
			message.Text = message.Attachments[0].Text
		}
		// What the operator wants to be notified of is no text of a tenant.
		text, ok := strings.CutPrefix(message.Text, "<!subteam^S1> prod : ")
		if !ok {
			t.Errorf("ALERT_ADDITIONAL_INFO is not as it was given: %s", message.Text)
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

// outsideCode is a text without what a chat shows as code.
func outsideCode(text string) string {
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllString(text, "")
}

func TestSlackShowsTextsOfTenantsAsTheyAre(t *testing.T) {
	text := hostileAlert(t, "slack")
	if strings.ContainsAny(text, "<>") || regexp.MustCompile(`&([^alg]|$)`).MatchString(text) {
		t.Errorf("there is a mention or a link in %s", text)
	}
	if rest := outsideCode(text); strings.Contains(rest, "evil.example") || strings.ContainsAny(rest, "_~`") || strings.Count(rest, "*")%2 != 0 {
		t.Errorf("outside of code there is %s", rest)
	}
	if !strings.Contains(text, "`a &amp; &lt;!channel&gt;") {
		t.Errorf("what the tenant wrote cannot be read in %s", text)
	}
}

func TestGoogleChatShowsTextsOfTenantsAsTheyAre(t *testing.T) {
	text := hostileAlert(t, "gchat")
	if strings.ContainsAny(text, "<>") {
		t.Errorf("there is a mention or a link in %s", text)
	}
	if rest := outsideCode(text); strings.Contains(rest, "evil.example") || strings.ContainsAny(rest, "_~`") {
		t.Errorf("outside of code there is %s", rest)
	}
	if !strings.Contains(text, "`a & ‹!channel›") {
		t.Errorf("what the tenant wrote cannot be read in %s", text)
	}
}

func TestTeamsShowsTextsOfTenantsAsTheyAre(t *testing.T) {
	text := strings.ReplaceAll(hostileAlert(t, "teams"), buildinfo.Doc(""), "") // our own addresses are links
	if strings.ContainsAny(text, "<>[]!_~`") || regexp.MustCompile(`&[^#]`).MatchString(text) {
		t.Errorf("there is a mention, a link or an image in %s", text)
	}
	if shown := html.UnescapeString(text); strings.Contains(shown, "://") || strings.Contains(shown, "evil.example") {
		t.Errorf("an address becomes a link once Teams has decoded %s", shown)
	}
	if !strings.Contains(text, "a &#38; &#60;&#33;channel&#62;") {
		t.Errorf("what the tenant wrote cannot be read in %s", text)
	}
}

func TestATextOfATenantForgesNoLine(t *testing.T) {
	forged := regexp.MustCompile(`(?m)^- fine|[\x00-\x09\x0b-\x1f\x7f\x{202e}\x{2028}]`)
	for _, sink := range []string{"slack", "teams", "gchat", "raw"} {
		if text := hostileAlert(t, sink); forged.MatchString(text) {
			t.Errorf("%s: %q", sink, text)
		}
	}
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		d := newDesk(t, false)
		d.Report.log = (&config.Config{LogFormat: format}).Logger(&out)
		d.NotRolled(web(), rollout.Outcome{Cause: rollout.CauseRefused, Changed: cfg(), Old: 1, All: 1, Trouble: rollout.Trouble{Message: hostile}})
		d.Reverted(web(), reload.Decision{Action: reload.Reload, Reverted: &reload.Revert{Owner: strings.Repeat(hostile, 50)}})
		d.Failed(web(), reloadFor("cfg"), errors.New(hostile), time.Second, false)
		d.Notify(notice.LeftTo(web(), workload.Key{Kind: hostile, Name: hostile}))
		if got := out.String(); strings.Count(got, "\n") != 4 || strings.ContainsAny(got, "\x1b\x07\r") {
			t.Errorf("%s: %q", format, got)
		}
		if longest := slices.MaxFunc(strings.Split(out.String(), "\n"), func(a, b string) int { return len(a) - len(b) }); len(longest) > 2*maxNote {
			t.Errorf("%s: a line has %d bytes", format, len(longest))
		}
		events := d.published()
		for _, event := range events {
			if regexp.MustCompile(`[\x00-\x1f\x7f\x{202e}\x{2028}]`).MatchString(event.Note) || len(event.Note) > maxNote {
				t.Errorf("the event %s says %q", event.Reason, event.Note)
			}
		}
		if len(events) != 4 {
			t.Errorf("%d events", len(events))
		}
	}
}

func TestALongTextOfATenantKeepsNoOthersOffTheList(t *testing.T) {
	for _, sink := range []string{"slack", "teams", "gchat"} {
		s := connect(t, nil, func(o *AlertOptions) { o.Sink = sink })
		s.NotRolled(web(), rollout.Outcome{Cause: rollout.CauseRefused, Changed: cfg(), Old: 1, All: 1, Trouble: rollout.Trouble{Message: strings.Repeat("<", 3000)}})
		s.reload(10)
		s.run().told(11)
		if letters := s.far.got(); len(letters) != 1 || strings.Count(letters[0].text, "Hence reloaded *web-") != 10 {
			t.Errorf("%s: %v", sink, letters)
		}
	}
}

// Everybody who may write to a workload chooses the name of the field manager.
func TestWhoTookAMarkAwayIsCountedByAClosedListOfNames(t *testing.T) {
	d := newDesk(t, false)
	for _, v := range []reload.Revert{
		{}, {Tool: workload.Helm}, {Owner: `Kafka "events"`, Tool: workload.Flux}, {Writer: "argocd-controller"}, {Writer: "kustomize-controller"},
		{Writer: "helm"}, {Writer: "kubectl-client-side-apply"}, {Writer: "kubectl", Owner: `Kafka "events"`}, {Writer: "Reloader"},
		{Writer: "deployer"}, {Writer: "a"}, {Writer: "b", Tool: workload.Helm}, {Writer: hostile},
	} {
		d.Reverted(web(), reload.Decision{Action: reload.Record, Reverted: &v})
	}
	want := map[string]float64{"unknown": 1, "Helm": 2, "operator": 1, "Argo CD": 1, "Flux": 1, "kubectl": 2, "Reloader": 1, "other": 4}
	families, err := d.metrics.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "reloader_reverted_total" {
			continue
		}
		for _, series := range family.GetMetric() {
			by := series.GetLabel()[0].GetValue()
			if got := series.GetCounter().GetValue(); got != want[by] {
				t.Errorf("%v by %q, want %v", got, by, want[by])
			}
			delete(want, by)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing are %v", want)
	}
}
