package harness

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// send sends as the controller does, which follows no redirect, and returns the status.
func send(ctx context.Context, method, url, contentType, body string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", contentType)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func TestAReceiverKeepsWhatItIsSent(t *testing.T) {
	t.Parallel()
	r := StartReceiver("/hook?key=1")
	defer r.Close()
	for body, contentType := range map[string]string{"first": "text/plain; charset=utf-8", `{"text":"second"}`: "application/json"} {
		status, err := send(t.Context(), http.MethodPost, r.URL(), contentType, body)
		must(t, err)
		if status != http.StatusOK {
			t.Errorf("it answers %d", status)
		}
	}
	must(t, r.Wrong())
	if len(r.Bodies()) != 2 || r.Count(regexp.MustCompile("^first$")) != 1 || r.Count(regexp.MustCompile("sec")) != 1 {
		t.Errorf("bodies: %q", r.Bodies())
	}
}

func TestAReceiverNotesWhatIsNotSentAsItHasToBe(t *testing.T) {
	t.Parallel()
	for about, tc := range map[string]struct{ method, path, contentType, body, want string }{
		"another method":   {http.MethodPut, "/hook", "text/plain", "words", "was sent PUT /hook, want POST /hook"},
		"another path":     {http.MethodPost, "/hook/", "text/plain", "words", "was sent POST /hook/, want POST /hook"},
		"a query":          {http.MethodPost, "/hook?a=b", "text/plain", "words", "was sent POST /hook?a=b, want POST /hook"},
		"JSON as text":     {http.MethodPost, "/hook", "text/plain", "{}", `was sent "{}" as "text/plain", want application/json`},
		"text as JSON":     {http.MethodPost, "/hook", "application/json", "words", `was sent "words" as "application/json", want text/plain`},
		"no type of media": {http.MethodPost, "/hook", "", "words", `was sent "words" as "", want text/plain`},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			r := StartReceiver("/hook")
			defer r.Close()
			_, err := send(t.Context(), tc.method, strings.TrimSuffix(r.URL(), "/hook")+tc.path, tc.contentType, tc.body)
			must(t, err)
			wantError(t, r.Wrong(), tc.want)
		})
	}
}

func TestAReceiverDoesAsItIsTold(t *testing.T) {
	t.Parallel()
	r := StartReceiver("/hook")
	defer r.Close()
	say := func(ctx context.Context, body string) (int, error) {
		return send(ctx, http.MethodPost, r.URL(), "text/plain", body)
	}
	for manner, want := range map[Manner]int{Fail: http.StatusInternalServerError, Redirect: http.StatusPermanentRedirect} {
		r.Behave(manner)
		if status, err := say(t.Context(), string(manner)); err != nil || status != want || r.Asked() != 1 {
			t.Errorf("%s: %d %v, asked %d times", manner, status, err, r.Asked())
		}
	}

	r.Behave(Hang)
	answered := make(chan error)
	go func() {
		_, err := say(t.Context(), "hangs")
		answered <- err
	}()
	must(t, Await(t.Context(), "the receiver to be asked", func(context.Context) error {
		if r.Asked() == 0 {
			return errors.New("not yet")
		}
		return nil
	}))
	select {
	case err := <-answered:
		t.Errorf("it does not hang: %v", err)
	default:
	}
	// Who sent what hangs may have been killed since, and its message must not count beside the
	// next one.
	r.Behave(Answer)
	if err := <-answered; err == nil {
		t.Error("what hangs is accepted later")
	}
	if status, err := say(t.Context(), "again"); err != nil || status != http.StatusOK {
		t.Errorf("the next message: %d %v", status, err)
	}
	must(t, r.Wrong())
	if diff := cmp.Diff([]string{"again"}, r.Bodies()); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
}
