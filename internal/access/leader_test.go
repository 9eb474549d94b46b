package access

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// replica is a replica with pages, and a Leader that finds the leader at an address.
type replica struct {
	*httptest.Server
	leads string
	err   error
}

func newReplica(t *testing.T, host, port, name string) *replica {
	t.Helper()
	r := &replica{}
	own := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/live":
			fmt.Fprintf(w, "data: %s\n\n", name)
			_ = http.NewResponseController(w).Flush()
			<-req.Context().Done()
		default:
			SetHeaders(w.Header())
			setCookie(w, req, name, 0)
			fmt.Fprintf(w, "%s %s%s for %s by %s", name, req.Host, req.URL, req.Header.Get("Cookie"), req.Header.Get("Authorization"))
		}
	})
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	l := &Leader{IP: func(context.Context) (string, error) { return r.leads, r.err }, Port: port, Log: slog.New(slog.DiscardHandler)}
	r.Server = httptest.NewUnstartedServer(l.Serve(own))
	_ = r.Listener.Close()
	r.Listener = listener
	r.Start()
	t.Cleanup(r.Close)
	return r
}

// replicas are a leader and a standby.
func replicas(t *testing.T) (leader, standby *replica) {
	t.Helper()
	leader = newReplica(t, "127.0.0.1", "0", "leader")
	at, _ := url.Parse(leader.URL)
	standby = newReplica(t, "127.0.0.2", at.Port(), "standby")
	standby.leads = "127.0.0.1"
	return leader, standby
}

func (r *replica) get(t *testing.T, path string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "reroll.example.com"
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func TestAStandbyServesThePagesOfTheLeader(t *testing.T) {
	_, standby := replicas(t)
	answer := standby.get(t, "/workload?ns=a&name=%22b", "Cookie", "reroll-session=x", "Authorization", "Bearer y")
	if body := bodyOf(answer); body != `leader reroll.example.com/workload?ns=a&name=%22b for reroll-session=x by Bearer y` {
		t.Errorf("got %s", body)
	}
	if len(answer.Cookies()) != 1 || answer.Cookies()[0].Value != "leader" || answer.Header.Get("Content-Security-Policy") != policy {
		t.Errorf("headers: %v", answer.Header)
	}
	first, err := bufio.NewReader(standby.get(t, "/live").Body).ReadString('\n')
	if err != nil || first != "data: leader\n" {
		t.Errorf("live: %q, %v", first, err)
	}
	if body := bodyOf(standby.get(t, "/assets/reroll.css")); !strings.HasPrefix(body, "standby ") {
		t.Errorf("a file that is the same everywhere comes from the %s", body)
	}
	standby.leads = ""
	if body := bodyOf(standby.get(t, "/")); !strings.HasPrefix(body, "standby ") {
		t.Errorf("when it leads, pages come from the %s", body)
	}
}

func TestAReplicaThatIsNoLeaderAnswersForNone(t *testing.T) {
	leader, standby := replicas(t)
	is := func(about string) {
		t.Helper()
		answer := standby.get(t, "/")
		body := bodyOf(answer)
		if answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "The leader of the controller does not answer") || answer.Header.Get("Retry-After") == "" || answer.Header.Get("Content-Security-Policy") != policy {
			t.Errorf("%s: %s %s", about, answer.Status, body)
		}
	}
	leader.leads = "127.0.0.2"
	is("each takes the other one for the leader")
	standby.leads = ""
	if body := bodyOf(leader.get(t, "/")); !strings.HasPrefix(body, "standby ") {
		t.Errorf("the new leader does not answer for the former one, but %s", body)
	}
	if answer := leader.get(t, "/", forwardedHeader, "true"); answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a request is forwarded twice: %s %s", answer.Status, bodyOf(answer))
	}
	standby.leads = "127.0.0.1"
	leader.Close()
	is("the leader is gone")
	standby.err = errors.New("forbidden")
	is("the leader cannot be found")
}
