package annotations

import (
	"strings"
	"testing"
	"time"
)

func TestFreezesAreReadAndWritten(t *testing.T) {
	until := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]Frozen{
		`{"until":"2026-11-24T12:00:00Z","by":"alice","reason":"incident 4711"}`: {until, "alice", "incident 4711"},
		`{"until":"2026-11-24T13:00:00+01:00"}`:                                  {until, "", ""},
		`{"until":"2026-11-24T12:00:00Z","by":"a\u001b[31m\nb","ticket":1}`:      {until, "a [31m b", ""},
	} {
		got, err := ParseFreeze(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if again, err := ParseFreeze(got.String()); err != nil || again != got {
			t.Errorf("%s: %+v after it is written again, %v", text, again, err)
		}
	}
	long, err := ParseFreeze(`{"until":"2026-11-24T12:00:00Z","reason":"` + strings.Repeat("ä", 200) + `"}`)
	if err != nil || len(long.Reason) > maxValue+len("…") {
		t.Errorf("a long reason: %+v, %v", long, err)
	}
	for text, want := range map[string]string{
		"tomorrow": "write JSON such as", "{}": "write JSON such as", `{"until":"2h"}`: "write JSON such as",
		`{"until":"2026-11-24T12:00:00Z","reason":"` + strings.Repeat("x", MaxFreeze) + `"}`: "it has more than 1000 bytes",
	} {
		if _, err := ParseFreeze(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}

func TestWhoFrozeReloadsAndWhyIsSaid(t *testing.T) {
	for want, f := range map[string]Frozen{
		"reloads are frozen":                         {},
		"reloads are frozen by alice":                {By: "alice"},
		"reloads are frozen: incident 4711":          {Reason: "incident 4711"},
		"reloads are frozen by alice: incident 4711": {By: "alice", Reason: "incident 4711"},
	} {
		if got := f.Says(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestANamespaceHasAFreezeAndASourceHasNone(t *testing.T) {
	const good = `{"until":"2026-11-24T12:00:00Z"}`
	for about, tc := range map[string]struct {
		text, mistake, kept string
		ofSource            bool
	}{
		"a freeze":            {good, "", good, false},
		"an unset one":        {"", "has no effect; remove the annotation, or write JSON", "", false},
		"a bad one":           {"soon", "cannot be read, so no reload starts: write JSON", "soon", false},
		"a bad one, too long": {strings.Repeat("x", 2000), "cannot be read, so no reload starts: it has more than 1000 bytes", strings.Repeat("x", 1001), false},
		"on a source":         {good, "", "", true},
	} {
		w, mistakes := ReadWaves(map[string]string{Freeze: tc.text}, tc.ofSource)
		if w.Freeze != tc.kept {
			t.Errorf("%s: kept is %.40q", about, w.Freeze)
		}
		if tc.mistake == "" && len(mistakes) > 0 || tc.mistake != "" && (len(mistakes) != 1 || !strings.Contains(mistakes[0].Message, tc.mistake)) {
			t.Errorf("%s: %+v", about, mistakes)
		}
	}
	names := DefaultNames()
	if found := MistakesOfNamespace(map[string]string{Freeze: good}, names); len(found) > 0 {
		t.Errorf("on a namespace: %+v", found)
	}
	if found := MistakesOfNamespace(map[string]string{"reroll.dev/freze": good}, names); len(found) != 1 || !strings.HasSuffix(found[0].Message, "Did you mean reroll.dev/freeze?") {
		t.Errorf("a typo: %+v", found)
	}
	if found := MistakesOfSource(map[string]string{Freeze: good}, names); len(found) > 0 {
		t.Errorf("on our own ConfigMap: %+v", found)
	}
}
