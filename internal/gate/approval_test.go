package gate

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// approvable is a workload with two ConfigMaps, of which the first has changed, and the other may
// have. Each text is the value of the annotation there.
type approvable struct {
	own, template, namespace, source, other string
	flag                                    bool
	// consents are those on the workload, and on both sources.
	consent, sourceConsent, otherConsent string
	// otherChanged reports whether the other source has changed, too.
	otherChanged bool
	urgent       bool
	// kind is the kind of the workload, unless it is a Deployment.
	kind string
	// csi reports whether the first source is what a CSI driver has mounted.
	csi bool
	// bundle reports whether the first source is a ClusterTrustBundle, and foreign whether it is in
	// another namespace.
	bundle, foreign bool
}

func oneOf(pairs ...string) map[string]string {
	values := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values[pairs[i]] = pairs[i+1]
		}
	}
	return values
}

var first, second = digest.Digest{1}, digest.Digest{2}

func (a approvable) facts() (*reload.Facts, *reload.Decision) {
	f := &reload.Facts{Now: noon, Settings: reload.Settings{Approval: a.flag}}
	f.Workload.Key = workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}
	f.Workload.UID = "u-web"
	f.Workload.Policy, _ = policy.Parse(oneOf(annotations.Approval, a.own, annotations.Approved, a.consent), oneOf(annotations.Approval, a.template), annotations.DefaultNames())
	f.Defaults, _ = policy.ParseNamespace(oneOf(annotations.Approval, a.namespace), annotations.DefaultNames())
	concern := func(name string, sum digest.Digest, text, consent string) reload.Concern {
		own := oneOf(annotations.Approval, text, annotations.Approved, consent)
		if a.urgent {
			own[annotations.Urgent] = "true"
		}
		waves, _ := annotations.ReadWaves(own, true)
		return reload.Concern{Source: source.Source{
			Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: name}, Digest: sum, Annotations: source.Annotations{Waves: waves.Keep()},
		}}
	}
	f.Concerns = []reload.Concern{concern("a", first, a.source, a.sourceConsent), concern("b", second, a.other, a.otherConsent)}
	if a.csi {
		f.Concerns[0].Source.Key.Kind = source.SecretProviderClass
	}
	if a.bundle {
		f.Concerns[0].Source.Key = source.Key{Kind: source.ClusterTrustBundle, Name: "a"}
	}
	if a.foreign {
		f.Concerns[0].Source.Key.Name = "infra/a"
	}
	if a.kind != "" {
		f.Workload.Key.Kind = a.kind
	}
	d := &reload.Decision{Action: reload.Reload, Changes: f.Concerns[:1]}
	if a.otherChanged {
		d.Changes = f.Concerns
	}
	return f, d
}

func (a approvable) set() string { return ConsentTo(a.facts()).String() }

func TestAReloadWaitsForApprovalWhereAnythingRequiresIt(t *testing.T) {
	const yes = annotations.Required
	set := approvable{}.set()
	for about, tc := range map[string]struct {
		approvable
		why, command string
	}{
		"nothing requires it":                     {approvable{}, "", ""},
		"the workload":                            {approvable{own: yes}, "for approval of ConfigMap a (reroll.dev/approval on the workload)", "deployment/web --digest=" + set},
		"the pod template":                        {approvable{template: yes}, "(reroll.dev/approval on the pod template)", "deployment/web --digest=" + set},
		"the workload does not lift it":           {approvable{own: "none", template: yes}, "on the workload)", "deployment/web"},
		"an empty value does not lift it":         {approvable{own: "", template: yes, namespace: yes}, "on the pod template)", "deployment/web"},
		"the namespace":                           {approvable{namespace: yes}, "for approval of ConfigMap a (reroll.dev/approval on the namespace)", "configmap/a --digest=" + first.String()},
		"all":                                     {approvable{flag: true}, "(--approval=required)", "configmap/a --digest=" + first.String()},
		"the source":                              {approvable{source: yes}, "(reroll.dev/approval on ConfigMap a)", "configmap/a --digest=" + first.String()},
		"a source that has not changed":           {approvable{other: yes}, "", ""},
		"both sources":                            {approvable{source: yes, other: yes, otherChanged: true}, "for approval of ConfigMap a and ConfigMap b (", "deployment/web --digest=" + set},
		"an invalid value is closed":              {approvable{own: "yes"}, "on the workload)", "deployment/web"},
		"an invalid value on the source":          {approvable{source: "no"}, "on ConfigMap a)", "configmap/a"},
		"an urgent change":                        {approvable{source: yes, urgent: true}, "on ConfigMap a)", "configmap/a"},
		"consent on the source":                   {approvable{source: yes, sourceConsent: first.String()}, "", ""},
		"consent on the source for the workload":  {approvable{own: yes, sourceConsent: first.String()}, "", ""},
		"consent to other data of the source":     {approvable{source: yes, sourceConsent: second.String()}, "for approval", "configmap/a"},
		"consent to one of two":                   {approvable{flag: true, sourceConsent: first.String(), otherChanged: true}, "for approval of ConfigMap b (", "configmap/b --digest=" + second.String()},
		"consent to both":                         {approvable{flag: true, sourceConsent: first.String(), otherConsent: second.String(), otherChanged: true}, "", ""},
		"consent on the workload":                 {approvable{own: yes, consent: set}, "", ""},
		"consent on the workload for its sources": {approvable{source: yes, other: yes, otherChanged: true, consent: set}, "", ""},
		"consent on the workload to other data":   {approvable{own: yes, consent: first.String()}, "for approval", "deployment/web"},
		"a text that is no digest":                {approvable{own: yes, source: yes, consent: "yes", sourceConsent: "true"}, "for approval", "deployment/web"},
		"a kind of the name of another one":       {approvable{own: yes, kind: "StatefulSet.apps.kruise.io"}, "on the workload)", "statefulset.apps.kruise.io/web --digest="},
		"data that a CSI driver brings":           {approvable{flag: true, csi: true}, "for approval of SecretProviderClass a (", "deployment/web --digest="},
		"a bundle":                                {approvable{namespace: yes, bundle: true}, "for approval of ClusterTrustBundle a (", "deployment/web --digest="},
		"consent on a bundle":                     {approvable{namespace: yes, bundle: true, sourceConsent: first.String()}, "for approval of ClusterTrustBundle a (", "deployment/web --digest="},
		"consent on a bundle that requires it":    {approvable{source: yes, bundle: true, sourceConsent: first.String()}, "(reroll.dev/approval on ClusterTrustBundle a)", "deployment/web --digest="},
		"a source of another namespace":           {approvable{own: yes, foreign: true}, "for approval of ConfigMap infra/a (", "deployment/web --digest="},
		"consent in another namespace":            {approvable{own: yes, foreign: true, sourceConsent: first.String()}, "for approval of ConfigMap infra/a (", "deployment/web --digest="},
		"consent in another one that requires it": {approvable{source: yes, foreign: true, sourceConsent: first.String()}, "(reroll.dev/approval on ConfigMap infra/a)", "deployment/web --digest="},
	} {
		t.Run(about, func(t *testing.T) {
			f, d := tc.facts()
			a := Check(f, d, Others{})
			if a.Open() != (tc.why == "") || !strings.Contains(a.Why, tc.why) || !a.Open() && a.By != Approval || !a.Until.IsZero() {
				t.Fatalf("%+v", a)
			}
			if command := a.Request.Command(f.Workload.Key); !a.Open() && !strings.HasPrefix(command, "reroll approve -n shop "+tc.command) {
				t.Error(command)
			}
		})
	}
}

// The consent on a workload is to the data of all of its sources.
func TestConsentOnAWorkloadIsWorthNothingForOtherData(t *testing.T) {
	given := approvable{own: annotations.Required, consent: approvable{}.set()}
	for about, edit := range map[string]func(f *reload.Facts, d *reload.Decision){
		"the changed source has other data": func(f *reload.Facts, d *reload.Decision) {
			f.Concerns[0].Source.Digest = digest.Digest{9}
			d.Changes = f.Concerns[:1]
		},
		"another source has other data": func(f *reload.Facts, _ *reload.Decision) { f.Concerns[1].Source.Digest = digest.Digest{9} },
		"a source is gone":              func(f *reload.Facts, _ *reload.Decision) { f.Concerns = f.Concerns[:1] },
		"it is another source":          func(f *reload.Facts, _ *reload.Decision) { f.Concerns[1].Source.Key.Name = "c" },
		"it is of another kind":         func(f *reload.Facts, _ *reload.Decision) { f.Concerns[1].Source.Key.Kind = source.Secret },
		"the data that will come is unknown": func(f *reload.Facts, d *reload.Decision) {
			d.Changes = []reload.Concern{f.Concerns[0]}
			d.Changes[0].Source.Digest = digest.Digest{}
		},
	} {
		f, d := given.facts()
		if a := Check(f, d, Others{}); !a.Open() {
			t.Fatalf("before: %+v", a)
		}
		edit(f, d)
		if a := Check(f, d, Others{}); a.By != Approval {
			t.Errorf("%s: %+v", about, a)
		}
	}
}

// When many sources wait, one digest is all that the ledger shows of them.
func TestAllSourcesOfAnAggregateHaveToBeApproved(t *testing.T) {
	f, d := approvable{source: annotations.Required}.facts()
	d.Changes = f.Concerns[1:]
	if a := Check(f, d, Others{}); !a.Open() {
		t.Fatalf("the ledger has an entry for each: %+v", a)
	}
	f, d = approvable{source: annotations.Required}.facts()
	d.Changes = f.Concerns[1:]
	f.Workload.LedgerText = ledger.Ledger{UID: f.Workload.UID, Aggregates: map[source.Kind]ledger.Total{source.ConfigMap: {Count: 2}}}.String()
	if a := Check(f, d, Others{}); a.By != Approval || !strings.Contains(a.Why, "ConfigMap a (") {
		t.Errorf("the ledger has one digest: %+v", a)
	}
	f.Concerns[0].Source.Key.Name = "infra/a" // it has an entry of its own
	if a := Check(f, d, Others{}); !a.Open() {
		t.Errorf("it is in another namespace: %+v", a)
	}
}

func TestApprovalIsAskedBeforeAllOtherGates(t *testing.T) {
	f, d := approvable{own: annotations.Required}.facts()
	f.Freeze, f.Window = freezeUntil(1, "x"), nights
	if a := Check(f, d, Others{}); a.By != Approval {
		t.Errorf("%+v", a)
	}
	f, d = approvable{own: annotations.Required, consent: approvable{}.set()}.facts()
	f.Freeze, f.Window = freezeUntil(1, "x"), nights
	if a := Check(f, d, Others{}); a.By != Freeze {
		t.Errorf("approved: %+v", a)
	}
}

func TestWhatRequiresApprovalIsDescribed(t *testing.T) {
	f, _ := approvable{own: annotations.Required, other: annotations.Required}.facts()
	want := "required for each change (reroll.dev/approval on the workload)\nrequired for changes of ConfigMap b (reroll.dev/approval there)"
	if got := strings.Join(DescribeApproval(f), "\n"); got != want {
		t.Error(got)
	}
	if f, _ := (approvable{}).facts(); len(DescribeApproval(f)) > 0 {
		t.Error("nothing requires it")
	}
}
