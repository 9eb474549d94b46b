package report

import (
	"net/http"
	"testing"
	"time"
)

func TestAMessageHasTheFormOfItsSink(t *testing.T) {
	const text = `Reloader detected changes in *greeting* of type *CONFIGMAP* in namespace *shop*. Hence reloaded *web* of type *Deployment* in namespace *shop*`
	const plain = `Reloader detected changes in greeting of type CONFIGMAP in namespace shop. Hence reloaded web of type Deployment in namespace shop`
	const jsonType, textType = "application/json", "text/plain"
	for about, tc := range map[string]struct {
		sink, info        string
		contentType, body string
	}{
		"slack":                  {"slack", "", jsonType, `{"attachments":[{"author_name":"Reloader","color":"good","text":"` + text + `"}]}`},
		"slack, with a cluster":  {"slack", "prod-eu", jsonType, `{"attachments":[{"author_name":"Reloader","color":"good","text":"prod-eu : ` + text + `"}]}`},
		"teams":                  {"teams", "", jsonType, `{"text":"` + text + `"}`},
		"teams, with a cluster":  {"teams", "prod-eu", jsonType, `{"text":"prod-eu : ` + text + `"}`},
		"gchat":                  {"gchat", "", jsonType, `{"text":"` + text + `"}`},
		"gchat, with a cluster":  {"gchat", `the "old" one`, jsonType, `{"text":"the \"old\" one : ` + text + `"}`},
		"raw":                    {"raw", "", textType, plain},
		"raw, with a cluster":    {"raw", "*prod-eu*", textType, "prod-eu : " + plain},
		"nothing that was named": {"", "", textType, plain},
	} {
		t.Run(about, func(t *testing.T) {
			s := connect(t, nil, func(o *AlertOptions) { o.Sink, o.Info = tc.sink, tc.info })
			s.Reloaded(web(), reloadFor("greeting"), time.Millisecond)
			s.run().told(1)
			letters := s.far.got()
			if len(letters) != 1 || letters[0].contentType != tc.contentType || letters[0].text != tc.body {
				t.Errorf("got  %v\nwant %s: %s", letters, tc.contentType, tc.body)
			}
		})
	}
}

func TestSeveralSourcesAreOneAlert(t *testing.T) {
	s := connect(t, nil)
	s.Reloaded(web(), reloadFor("a", "b", "c"), time.Millisecond)
	s.run().told(1)
	want := "Reloader detected changes in c (and 2 more: b, a) of type CONFIGMAP in namespace shop. Hence reloaded web of type Deployment in namespace shop"
	if letters := s.far.got(); len(letters) != 1 || letters[0].text != want {
		t.Errorf("got %v", letters)
	}
}

func TestAnyAnswerOfTheTwoHundredsIsAcceptance(t *testing.T) {
	for _, code := range []int{200, 201, 202, 204, 299} {
		s := connect(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		s.reload(1)
		s.run().told(1)
		if s.failures() != 0 || len(s.far.got()) != 1 {
			t.Errorf("%d: %v failures, sent %d times", code, s.failures(), len(s.far.got()))
		}
	}
}
