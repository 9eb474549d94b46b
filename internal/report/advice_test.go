package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/reload"
)

func concern(kind reload.SourceKind, name string, rule reload.Rule, entry string) reload.Concern {
	return reload.Concern{
		Source:  reload.Source{Key: reload.SourceKey{Kind: kind, Namespace: "shop", Name: name}},
		Verdict: reload.Verdict{Concerned: true, Rule: rule, Entry: entry},
	}
}

func awaited(c reload.Concern) reload.Concern {
	c.Deleted = true
	return c
}

func TestEachSourceIsWatchedForAReason(t *testing.T) {
	for want, concerns := range map[string][]reload.Concern{
		"Nothing is watched for this Deployment yet: its annotations ask for no ConfigMap or Secret that it refers to or that exists": nil,
		"A change of the content of ConfigMap 'a' (auto) rolls this Deployment":                                                       {concern(reload.ConfigMap, "a", reload.RuleAuto, "")},
		"A change of the content of ConfigMap 'a' (auto for ConfigMaps) and Secret 'b' (named) rolls this Deployment": {
			concern(reload.ConfigMap, "a", reload.RuleTypedAuto, ""), concern(reload.Secret, "b", reload.RuleNamed, "b"),
		},
		"A change of the content of ConfigMap 'a' (auto) and Secret 'b' (auto, once it is created) rolls this Deployment": {
			concern(reload.ConfigMap, "a", reload.RuleAuto, ""), awaited(concern(reload.Secret, "b", reload.RuleAuto, "")),
		},
		"A change of the content of ConfigMap 'a' (--auto-reload-all), ConfigMap 'b' (search and match) and Secret 'c' (named by 'c|d') rolls this Deployment": {
			concern(reload.ConfigMap, "a", reload.RuleAutoAll, ""), concern(reload.ConfigMap, "b", reload.RuleSearch, ""), concern(reload.Secret, "c", reload.RuleNamed, "c|d"),
		},
	} {
		d := newDesk(t, false)
		d.Watching(web(), concerns)
		if events := d.published(); len(events) != 1 || events[0].Note != want || events[0].Reason != "Watching" || events[0].Type != "Normal" {
			t.Errorf("published %+v, want one that says %q", events, want)
		}
	}
}

func TestTheSentenceAboutManySourcesEnds(t *testing.T) {
	for about, length := range map[string]int{"short names": 3, "long names": 250} {
		var concerns []reload.Concern
		for range 5000 {
			concerns = append(concerns, concern(reload.Secret, strings.Repeat("x", length), reload.RuleNamed, ".*"))
		}
		d := newDesk(t, false)
		d.Watching(web(), concerns)
		note := d.published()[0].Note
		const each = "Secret '' (named by '.*'), "
		if len(note) > maxNote || len(note) < maxNote-len(each)-length || !strings.HasSuffix(note, " more rolls this Deployment") {
			t.Errorf("%s: %d bytes: %s", about, len(note), note)
		}
		if named := strings.Count(note, "Secret '"); !strings.Contains(note, fmt.Sprintf(" and %d more rolls", len(concerns)-named)) {
			t.Errorf("%s: %d are named: %s", about, named, note)
		}
	}
}

func TestWhatIsNamedAndNotThere(t *testing.T) {
	name := func(kind reload.SourceKind, text string) reload.NamedSource {
		return reload.NamedSource{Kind: kind, Text: text}
	}
	expression := func(kind reload.SourceKind, text string) reload.NamedSource {
		return reload.NamedSource{Kind: kind, Text: text, Expression: true}
	}
	for want, missing := range map[string][]reload.NamedSource{
		"Its annotations name ConfigMap 'my.config', which namespace shop does not have. Check the spelling; when it is created, it is watched": {
			name(reload.ConfigMap, "my.config"),
		},
		"In namespace shop, 'app-.*' matches no ConfigMap. Check the spelling; when it is created, it is watched": {
			expression(reload.ConfigMap, "app-.*"),
		},
		"Its annotations name ConfigMap 'a' and Secret 'b', which namespace shop does not have. " +
			"In namespace shop, 'c.*' matches no ConfigMap and 'd|e' matches no Secret. Check the spelling; when it is created, it is watched": {
			name(reload.ConfigMap, "a"), expression(reload.ConfigMap, "c.*"), name(reload.Secret, "b"), expression(reload.Secret, "d|e"),
		},
		"In namespace shop, '" + strings.Repeat("x", 100) + "…' matches no Secret. Check the spelling; when it is created, it is watched": {
			expression(reload.Secret, strings.Repeat("x", 4000)+".*"),
		},
	} {
		d := newDesk(t, false)
		d.Missing(web(), missing)
		if events := d.published(); len(events) != 1 || events[0].Note != want || events[0].Reason != "SourceMissing" || events[0].Type != "Warning" {
			t.Errorf("published %+v, want one that says %q", events, want)
		}
	}
}

func TestMistakesOfAnObjectAreOneEventOnIt(t *testing.T) {
	problems := []reload.Problem{{Annotation: "a", Value: "x", Message: "does nothing"}, {Annotation: "b", InTemplate: true, Message: "neither"}}
	const want = `annotation a has "x": does nothing. annotation b of the pod template has "": neither`
	source := func(kind reload.SourceKind) *reload.Source {
		return &reload.Source{Key: reload.SourceKey{Kind: kind, Namespace: "shop", Name: "db"}, UID: "u-2"}
	}
	apiVersions := map[string]string{"Secret": "v1", "SecretProviderClass": "secrets-store.csi.x-k8s.io/v1", "Deployment": web().APIVersion}
	for kind, tell := range map[string]func(*desk){
		"Deployment":          func(d *desk) { d.Misused(web(), problems) },
		"Secret":              func(d *desk) { d.MisusedSource(source(reload.Secret), problems) },
		"SecretProviderClass": func(d *desk) { d.MisusedSource(source(reload.SecretProviderClass), problems) },
	} {
		d := newDesk(t, false)
		tell(d)
		events := d.published()
		if len(events) != 1 || events[0].Note != want || events[0].Reason != "AnnotationIgnored" || events[0].Type != "Warning" || events[0].Regarding.Kind != kind || events[0].Regarding.APIVersion != apiVersions[kind] {
			t.Errorf("%s: published %+v, want one that says %q", kind, events, want)
		}
		if !strings.Contains(d.log.String(), "does nothing") {
			t.Errorf("the log says %q", d.log)
		}
		d = newDesk(t, true)
		if tell(d); len(d.published()) != 0 || !strings.Contains(d.log.String(), "does nothing") {
			t.Errorf("%s: a dry run published %+v and logged %q", kind, d.published(), d.log)
		}
	}
}
