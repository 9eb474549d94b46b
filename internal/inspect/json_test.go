package inspect

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// Programs read these documents. So any change of a document must show in the golden files.
func TestDocumentsForPrograms(t *testing.T) {
	s := read(t, "why-excluded")
	x, err := s.objects.Explain("shop", "deployment/web", "", s.running, noon)
	if err != nil {
		t.Fatal(err)
	}
	x.Last = &LastEvent{Reason: "Reloaded", Note: "all", At: noon.Add(-time.Hour)}
	plan, err := read(t, "plan-rolls").objects.Plan("shop", "configmap/greeting", func(string) ([]Pod, error) { return nil, nil }, noon)
	if err != nil {
		t.Fatal(err)
	}
	found := read(t, "lint-manifests").objects.Lint(true, noon)
	for kind, document := range map[string]func() (string, error){
		"Explanation": x.JSON, "Plan": plan.JSON, "Lint": func() (string, error) {
			return LintJSON(found, []Unread{{"web.yaml", 6, "it is neither YAML nor JSON"}}, []string{"could not read Deployment web"})
		},
		"Status": read(t, "status-mixed").status(t, "shop").JSON,
	} {
		text, err := document()
		var head struct{ APIVersion, Kind string }
		if err == nil {
			err = json.Unmarshal([]byte(text), &head)
		}
		if err != nil || head.APIVersion != "reroll.dev/v1" || head.Kind != kind {
			t.Errorf("%s: %v, %+v", kind, err, head)
		}
		if kind != "Status" {
			unbounded(t, "json-"+strings.ToLower(kind), text)
		}
	}
}
