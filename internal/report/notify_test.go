package report

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestMistakesOfAnObjectAreOneEventOnIt(t *testing.T) {
	mistakes := []annotations.Mistake{{Annotation: "a", Value: "x", Message: "does nothing"}, {Annotation: "b", InTemplate: true, Message: "neither"}}
	const want = `annotation a has "x": does nothing. annotation b of the pod template has "": neither`
	src := func(kind source.Kind) *source.Source {
		return &source.Source{Key: source.Key{Kind: kind, Namespace: "shop", Name: "db"}, UID: "u-2"}
	}
	apiVersions := map[string]string{"Secret": "v1", "SecretProviderClass": "secrets-store.csi.x-k8s.io/v1", "Deployment": web().APIVersion}
	for kind, tell := range map[string]func(*desk){
		"Deployment":          func(d *desk) { d.Notify(notice.Mistakes(web(), mistakes)) },
		"Secret":              func(d *desk) { d.Notify(notice.MistakesOfSource(src(source.Secret), mistakes)) },
		"SecretProviderClass": func(d *desk) { d.Notify(notice.MistakesOfSource(src(source.SecretProviderClass), mistakes)) },
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

func TestReloadsAgainAndAgainAreCounted(t *testing.T) {
	d := newDesk(t, false)
	d.Notify(notice.TooOften(web(), notice.Often{Reloads: 10, Changes: 9}))
	d.Notify(notice.PauseBack(web()))
	if got := d.counted("reloader_reloaded_often_total"); got != 1 {
		t.Errorf("counted %v times", got)
	}
}
