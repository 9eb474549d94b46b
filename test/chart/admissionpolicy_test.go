package chart

import (
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/test/harness"
)

// policies renders for a cluster that has the API of admission policies, or has not, and returns
// those about the controller.
func policies(t *testing.T, values string, served bool) (found []admissionv1.ValidatingAdmissionPolicy, bound []admissionv1.ValidatingAdmissionPolicyBinding) {
	t.Helper()
	found, bound = allPolicies(t, values, served)
	found = slices.DeleteFunc(found, func(p admissionv1.ValidatingAdmissionPolicy) bool { return aboutOthers(p.Name) })
	return found, slices.DeleteFunc(bound, func(b admissionv1.ValidatingAdmissionPolicyBinding) bool {
		return aboutOthers(b.Name)
	})
}

// aboutOthers reports whether a policy is about other clients than the controller.
func aboutOthers(name string) bool {
	return strings.Contains(name, harness.OwnJobs) || strings.Contains(name, harness.Approvals)
}

func allPolicies(t *testing.T, values string, served bool) (found []admissionv1.ValidatingAdmissionPolicy, bound []admissionv1.ValidatingAdmissionPolicyBinding) {
	t.Helper()
	args := []string{"template", release, chart, "--namespace", namespace, "--kube-version", oldestCluster}
	if served {
		args = append(args, "--api-versions", "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy")
	}
	text, err := helm(t, values, args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range documents(text) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		switch kind.Kind {
		case "ValidatingAdmissionPolicy":
			found = append(found, parse[admissionv1.ValidatingAdmissionPolicy](t, doc))
		case "ValidatingAdmissionPolicyBinding":
			bound = append(bound, parse[admissionv1.ValidatingAdmissionPolicyBinding](t, doc))
		}
	}
	return found, bound
}

func TestTheAdmissionPolicyIsThereWhereItCanBe(t *testing.T) {
	const usual = "prod-reroll-marks-only.ops of system:serviceaccount:ops:prod-reroll"
	for about, tc := range map[string]struct {
		values string
		served bool
		want   string
	}{
		"where the API has it":                       {"", true, usual},
		"where it has not":                           {"", false, ""},
		"asked for in any case":                      {"reloader: {admissionPolicy: {enabled: true}}", false, usual},
		"switched off":                               {"reloader: {admissionPolicy: {enabled: false}}", true, ""},
		"asked for in words":                         {"reloader: {admissionPolicy: {enabled: auto}}", true, usual},
		"not where nothing is cluster-wide":          {"reloader: {watchGlobally: false}", true, ""},
		"not for a list of namespaces":               {"reloader: {namespaces: [a, b]}", true, ""},
		"but when asked for there":                   {"reloader: {watchGlobally: false, admissionPolicy: {enabled: true}}", true, usual},
		"not where the permissions are made by hand": {"reloader: {rbac: {enabled: false}}", true, ""},
		"not for an account that others may have":    {"reloader: {serviceAccount: {create: false}}", true, ""},
		"for that account when asked for":            {"reloader: {admissionPolicy: {enabled: true}, serviceAccount: {create: false, name: rolls}}", true, "prod-reroll-marks-only.ops of system:serviceaccount:ops:rolls"},
		"by the names of an existing installation":   {"{nameOverride: reloader, namespace: other}", true, "prod-reloader-marks-only.other of system:serviceaccount:other:prod-reloader"},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			found, bound := policies(t, tc.values, tc.served)
			if tc.want == "" {
				if len(found)+len(bound) > 0 {
					t.Errorf("it is there: %v, %v", found, bound)
				}
				return
			}
			if len(found) != 1 || len(bound) != 1 {
				t.Fatalf("%d policies, %d bindings", len(found), len(bound))
			}
			_, account, _ := strings.Cut(found[0].Spec.MatchConditions[0].Expression, "request.userInfo.username == ")
			if got := found[0].Name + " of " + strings.Trim(account, `"`); got != tc.want {
				t.Errorf("it is %s, want %s", got, tc.want)
			}
			if bound[0].Spec.PolicyName != found[0].Name || bound[0].Spec.ValidationActions[0] != admissionv1.Deny {
				t.Errorf("the binding is %+v", bound[0].Spec)
			}
		})
	}
}

// Another installation may create such Jobs where this one does not work.
func TestThePolicyAboutTheJobsOfOthersIsThereWhereNobodyElseCreatesThem(t *testing.T) {
	for about, tc := range map[string]struct {
		values string
		served bool
		want   string
	}{
		"everywhere":                        {"", true, "everywhere"},
		"where the API has none":            {"", false, ""},
		"switched off":                      {"reloader: {admissionPolicy: {enabled: false}}", true, ""},
		"not where some are selected":       {"reloader: {namespaceSelector: team=a}", true, ""},
		"not where some are ignored":        {"reloader: {ignoreNamespaces: 'a, b'}", true, "NotIn a b"},
		"in the namespaces that are listed": {"reloader: {namespaces: [a, b], admissionPolicy: {enabled: true}}", true, "In a b ops"},
		"in its own namespace":              {"reloader: {watchGlobally: false, admissionPolicy: {enabled: true}}", true, "In ops"},
		"for CronJobs alone":                {"reloader: {ignoreJobs: true}", true, "everywhere"},
		"not where no Job is made":          {"reloader: {ignoreJobs: true, ignoreCronJobs: true}", true, ""},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			found, bound := allPolicies(t, tc.values, tc.served)
			i := slices.IndexFunc(found, func(p admissionv1.ValidatingAdmissionPolicy) bool {
				return p.Name == "prod-reroll"+harness.OwnJobs+"ops"
			})
			j := slices.IndexFunc(bound, func(b admissionv1.ValidatingAdmissionPolicyBinding) bool {
				return b.Name == "prod-reroll"+harness.OwnJobs+"ops"
			})
			if tc.want == "" {
				if i >= 0 || j >= 0 {
					t.Error("it is there")
				}
				return
			}
			if i < 0 || j < 0 {
				t.Fatalf("it is not there: %v, %v", found, bound)
			}
			got := "everywhere"
			if in := bound[j].Spec.MatchResources; in != nil {
				by := in.NamespaceSelector.MatchExpressions[0]
				got = string(by.Operator) + " " + strings.Join(by.Values, " ")
			}
			condition := found[i].Spec.MatchConditions[0].Expression
			if got != tc.want || bound[j].Spec.PolicyName != found[i].Name || condition != `request.userInfo.username != "system:serviceaccount:ops:prod-reroll"` {
				t.Errorf("it holds %s, want %s; unless %s", got, tc.want, condition)
			}
			// A mistake in it must not keep anybody from creating Jobs.
			if *found[i].Spec.FailurePolicy != admissionv1.Ignore {
				t.Errorf("a failure means %s", *found[i].Spec.FailurePolicy)
			}
		})
	}
}

// What the controller is told to call an annotation, the policy lets it write, and no other in its
// place.
func TestTheAdmissionPolicyKnowsWhatIsCalledOtherwise(t *testing.T) {
	for values, want := range map[string]string{
		"":                                     `["reroll.dev/ledger", "deployment.reloader.stakater.com/paused-at"]`,
		"reloader: {custom_annotations: null}": `["reroll.dev/ledger", "deployment.reloader.stakater.com/paused-at"]`,
		"reloader: {custom_annotations: {pauseTime: ''}}":                 `["reroll.dev/ledger", "deployment.reloader.stakater.com/paused-at"]`,
		"reloader: {custom_annotations: {pauseTime: ' '}}":                `["reroll.dev/ledger", "deployment.reloader.stakater.com/paused-at"]`,
		"reloader: {custom_annotations: {pauseTime: example.org/paused}}": `["reroll.dev/ledger", "example.org/paused"]`,
		// The controller takes the blanks away.
		"reloader: {custom_annotations: {pauseTime: ' example.org/paused '}}": `["reroll.dev/ledger", "example.org/paused"]`,
	} {
		found, _ := policies(t, values, true)
		if len(found) != 1 {
			t.Fatalf("%q: %d policies", values, len(found))
		}
		for _, v := range found[0].Spec.Variables {
			if v.Name == "markedAnnotations" && !strings.Contains(v.Expression, want) {
				t.Errorf("%q: it has %s, want %s", values, v.Expression, want)
			}
		}
	}
}

// A word lets pass what a refusal names it for, and takes nothing else away.
func TestTheAdmissionPolicyLetsPassWhatWebhooksAreKnownToChange(t *testing.T) {
	refusals := func(words string) []string {
		found, _ := policies(t, "reloader: {admissionPolicy: {mutated: ["+words+"]}}", true)
		if len(found) != 1 {
			t.Fatalf("%q: %d policies", words, len(found))
		}
		var all []string
		for _, v := range found[0].Spec.Validations {
			all = append(all, v.MessageExpression)
		}
		return all
	}
	usual := refusals("")
	for _, word := range []string{"labels", "annotations", "spec", "podLabels", "podAnnotations", "pod", "containers", "env"} {
		names := func(text string) bool {
			return strings.Contains(text, "If a mutating webhook did that, add "+word+" to reloader.admissionPolicy.mutated.")
		}
		left := slices.DeleteFunc(slices.Clone(usual), names)
		if got := refusals(word); len(left) == len(usual) || !slices.Equal(got, left) {
			t.Errorf("%s: of %d refusals %d are left, want %d", word, len(usual), len(got), len(left))
		}
	}
	all := refusals("labels, annotations, spec, podLabels, podAnnotations, pod, containers, env")
	if text := strings.Join(all, "\n"); len(all) != 6 || strings.Contains(text, "mutated") {
		t.Errorf("with all words it refuses: %s", text)
	}
}
