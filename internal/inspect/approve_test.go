package inspect

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func inOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

var (
	greeting = source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "greeting"}
	theWeb   = workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}
)

func approveIt(t *testing.T, s *story, text, seen string) *Approval {
	t.Helper()
	a, err := s.objects.Approve("shop", text, seen, s.running, noon)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// consented writes a consent on the source.
func consented(s *story, text string) {
	src := s.objects.sources[greeting]
	waves, _ := annotations.ReadWaves(map[string]string{annotations.Approved: text}, true)
	src.Annotations.Waves = waves.Keep()
	s.objects.sources[greeting] = src
}

func TestWhatIsApprovedNoLongerWaits(t *testing.T) {
	for text, give := range map[string]func(s *story, a *Approval){
		"configmap/greeting": func(s *story, a *Approval) { consented(s, a.Digest) },
		"deployment/web": func(s *story, a *Approval) {
			w := s.objects.workloads[theWeb]
			own := map[string]string{"reloader.stakater.com/auto": "true", annotations.Approved: a.Digest}
			w.Policy, _ = policy.Parse(own, nil, annotations.DefaultNames())
			s.objects.workloads[theWeb] = w
		},
	} {
		s := read(t, "why-approval")
		a := approveIt(t, s, text, "")
		if a.Ref != text || a.Namespace != "shop" || len(a.Waiting) != 1 || a.Waiting[0] != "deployment/web" {
			t.Errorf("%+v", a)
		}
		if got := approveIt(t, s, text, a.Digest); got.Digest != a.Digest {
			t.Errorf("with its digest: %+v", got)
		}
		pending := func() string {
			status, err := s.objects.Status("shop", "", s.running, noon)
			if err != nil {
				t.Fatal(err)
			}
			return inOneLine(status.Pending().Text(Paint{}))
		}
		if got := pending(); !strings.Contains(got, "deployment/web 3 1s ago waiting for approval of ConfigMap greeting (reroll.dev/approval on the namespace)") {
			t.Error(got)
		}
		give(s, a)
		if got := pending(); !strings.Contains(got, "No reload waits.") {
			t.Errorf("after approval of %s: %s", text, got)
		}
		if a := approveIt(t, s, text, ""); len(a.Waiting) > 0 {
			t.Errorf("after approval: %+v", a)
		}
	}
}

func TestAnApprovalOfOtherDataThanTheUserHasSeenFails(t *testing.T) {
	s := read(t, "why-approval")
	now := approveIt(t, s, "cm/greeting", "").Digest
	_, err := s.objects.Approve("shop", "configmap/greeting", digest.Digest{1}.String(), s.running, noon)
	if err == nil || !strings.Contains(err.Error(), "the data of configmap/greeting has changed since that request; review it, and approve it with reroll approve -n shop configmap/greeting --digest="+now) {
		t.Error(err)
	}
}

// Without the key of the controller, the digest of a Secret is unknown.
func TestAUserWithoutTheKeyApprovesTheDigestOfARequest(t *testing.T) {
	seen := digest.Digest{7}.String()
	for _, text := range []string{"secret/db", "deployment/web"} {
		s := read(t, "why-approval")
		s.objects.settings.NoKey = "you may not read the key of the controller"
		if _, err := s.objects.Approve("shop", text, "", s.running, noon); err == nil || !strings.Contains(err.Error(), text+" cannot be approved without its digest: you may not read the key of the controller; paste the command from the event") {
			t.Error(err)
		}
		if a := approveIt(t, s, text, seen); a.Digest != seen {
			t.Errorf("%+v", a)
		}
	}
	for _, text := range []string{"configmap/none", "deployment/none", "secret/none"} {
		s := read(t, "why-approval")
		if _, err := s.objects.Approve("shop", text, "", s.running, noon); err == nil || !strings.Contains(err.Error(), "namespace shop has no ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A plan is about data that nobody has approved yet.
func TestAPlanShowsThatApprovalIsRequired(t *testing.T) {
	s := read(t, "why-approval")
	consented(s, approveIt(t, s, "configmap/greeting", "").Digest)
	p, err := s.objects.Plan("shop", "configmap/greeting", s.running, noon)
	if err != nil {
		t.Fatal(err)
	}
	if text := inOneLine(p.Text(Paint{})); !strings.Contains(text, "deployment/web auto, but waits: for approval of ConfigMap greeting (reroll.dev/approval on the namespace)") {
		t.Error(text)
	}
}

func TestPendingListsEachGateAndEachCommandOnce(t *testing.T) {
	s := read(t, "why-approval")
	other := s.objects.workloads[theWeb]
	other.Key.Name, other.UID = "web2", "u-web2"
	other.LedgerText = strings.Replace(other.LedgerText, "u-web", "u-web2", 1)
	s.objects.workloads[other.Key] = other
	status, err := s.objects.Status("", "", s.running, noon)
	if err != nil {
		t.Fatal(err)
	}
	p := status.Pending()
	command := approveIt(t, s, "configmap/greeting", "").Digest
	text := inOneLine(p.Text(Paint{}))
	if want := "To approve shop/deployment/web and shop/deployment/web2: reroll approve -n shop configmap/greeting --digest=" + command; !strings.Contains(text, want) || strings.Count(text, "reroll approve") != 1 {
		t.Error(text)
	}
	out, err := p.JSON()
	for _, want := range []string{`"kind": "Pending"`, `"gate": "approval"`, `"sources": [ "ConfigMap greeting" ]`, `"since": "2026-03-01T11:59:59Z"`, `"approve": "reroll approve -n shop configmap/greeting --digest=`} {
		if err != nil || !strings.Contains(inOneLine(out), want) {
			t.Errorf("without %s: %s, %v", want, out, err)
		}
	}
	if p.Code() != 0 {
		t.Errorf("exit code %d", p.Code())
	}
	s = read(t, "why-freeze")
	if status, err = s.objects.Status("shop", "", s.running, noon); err != nil {
		t.Fatal(err)
	}
	if text := inOneLine(status.Pending().Text(Paint{})); !strings.Contains(text, "deployment/web 3 1s ago waiting until 2026-03-01T14:00:00Z") || strings.Contains(text, "To approve") {
		t.Error(text)
	}
}
