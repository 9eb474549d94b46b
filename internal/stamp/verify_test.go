package stamp

import (
	"strings"
	"testing"
)

// An edit with another effect than intended must never be written. No such edit is known, so the
// test makes one.
func TestAnEditIsReadBack(t *testing.T) {
	const text = `apiVersion: apps/v1
kind: Deployment
metadata: &meta
  name: web # a comment
spec:
  template:
    metadata:
      annotations:
        a: "1"
    spec:
      containers: [{name: app}]
`
	s := New(optionsOf(t, []byte("all")))
	if err := s.Read("web.yaml", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stamp(); err != nil {
		t.Fatal(err)
	}
	d := s.documents[0]
	right := string(apply(d.text, d.edits))
	if !s.options.reads(d, []byte(right)) {
		t.Fatalf("what is right is refused:\n%s", right)
	}
	for about, change := range map[string][]string{
		"no stamp":            {"        checksum/config: no-config-data\n", ""},
		"another value":       {"no-config-data", "no-config"},
		"another place":       {"checksum/config: no-config-data\n", "\n", "spec:\n", "other: {checksum/config: no-config-data}\nspec:\n"},
		"another annotation":  {`a: "1"`, `a: "2"`},
		"another type":        {`a: "1"`, `a: 1`},
		"one more":            {`a: "1"`, `a: "1"` + "\n        b: c"},
		"one less":            {`        a: "1"` + "\n", ""},
		"another name":        {"name: web", "name: wep"},
		"no anchor":           {" &meta", ""},
		"something elsewhere": {"[{name: app}]", "[{name: app, tty: true}]"},
		"twice":               {"checksum/config: no-config-data", "checksum/config: no-config-data\n        checksum/config: no-config-data"},
		"no YAML":             {"[{", "[["},
		"another document":    {"spec:\n  template", "---\nspec:\n  template"},
		"no object":           {"kind: Deployment\n", ""},
	} {
		wrong := strings.NewReplacer(change...).Replace(right)
		if wrong == right {
			t.Errorf("%s: nothing is changed", about)
		}
		if s.options.reads(d, []byte(wrong)) {
			t.Errorf("%s is taken for right:\n%s", about, wrong)
		}
	}
	comment := strings.Replace(right, "# a comment", "#", 1)
	if !s.options.reads(d, []byte(comment)) {
		t.Error("comments count, although the parser moves them about")
	}
}
