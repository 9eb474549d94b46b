package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
)

// safe fails if a token got to where people read.
func (s *switchboard) safe() {
	s.Helper()
	families, err := s.metrics.Registry().Gather()
	if err != nil {
		s.Fatal(err)
	}
	var metrics bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&metrics, family); err != nil {
			s.Fatal(err)
		}
	}
	for place, text := range map[string]string{"log": s.log.String(), "metrics": metrics.String()} {
		if strings.Contains(text, token) || strings.Contains(text, "services") {
			s.Errorf("an address is in the %s: %s", place, text)
		}
	}
}

// warnedOnce fails unless the log has one warning, with these words.
func (s *switchboard) warnedOnce(words ...string) {
	s.Helper()
	lines := slices.DeleteFunc(s.alertLines(), func(line string) bool { return !strings.Contains(line, "level=WARN") })
	if len(lines) != 1 {
		s.Fatalf("%d warnings: %q", len(lines), lines)
	}
	for _, word := range append(words, "metric=reloader_alert_failures_total") {
		if !strings.Contains(lines[0], word) {
			s.Errorf("the warning is %q, and lacks %q", lines[0], word)
		}
	}
}

// hang answers no one before the test ends.
func hang(t *testing.T) func(int, http.ResponseWriter, *http.Request) {
	over := make(chan struct{})
	t.Cleanup(sync.OnceFunc(func() { close(over) }))
	return func(int, http.ResponseWriter, *http.Request) { <-over }
}

func TestAHangingReceiverDelaysNothing(t *testing.T) {
	s := connect(t, nil)
	s.far.answer = hang(t)
	s.alerts.poster.timeout = 10 * time.Millisecond
	s.run()
	s.reload(1)
	s.until("a try to end", func() bool { return s.failures() >= 1 })
	// All of these return while the receiver still has the first one.
	s.reload(2000)
	if got := s.counted(`reloader_reload_executed_total{success="true"}`); got != 2001 || strings.Count(s.log.String(), "Changes detected in") != 2001 {
		t.Errorf("%v reloads are counted", got)
	}
	s.lost(2001)
	// Not counted by the receiver: on a slow machine a try may be over before the receiver notices
	// it.
	if got := s.failures(); got != 2*maxTries {
		t.Errorf("tried %v times, want %d for the first and %d for the others together", got, maxTries, maxTries)
	}
	s.warnedOnce("no response within 10ms", "receiver="+s.far.URL)
	s.safe()
}

func TestAReceiverThatHangsDoesNotKeepTheControllerFromEnding(t *testing.T) {
	s := connect(t, nil)
	s.far.answer = hang(t)
	s.alerts.poster.timeout = time.Hour
	s.alerts.flush = 10 * time.Millisecond
	s.reload(50)
	s.run()
	s.until("a try", func() bool { return len(s.far.got()) == 1 })
	s.stop()
	<-s.ended // long before the receiver answers, which is at the end of the test
	if s.dropped() != 50 {
		t.Errorf("%v are counted as dropped", s.dropped())
	}
	s.safe()
}

func TestAMessageIsTriedAgainWithGrowingDelay(t *testing.T) {
	s := connect(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n < maxTries {
			http.Error(w, token, http.StatusInternalServerError)
		}
	})
	s.reload(1)
	s.run().told(1)
	letters := s.far.got()
	if len(letters) != maxTries || s.failures() != maxTries-1 || s.dropped() != 0 {
		t.Fatalf("%d tries, %v failures, %v dropped", len(letters), s.failures(), s.dropped())
	}
	for i, want := range []time.Duration{1, 4, 16, 64} {
		if letters[i+1].text != letters[0].text {
			t.Errorf("try %d sends %q", i+2, letters[i+1].text)
		}
		if got := letters[i+1].at.Sub(letters[i].at); got != want*time.Second {
			t.Errorf("try %d comes after %s, want %ds", i+2, got, want)
		}
	}
	s.warnedOnce("it answered 500 Internal Server Error")
	if lines := s.alertLines(); len(lines) != 2 || !strings.Contains(lines[1], "alerts are delivered again") || !strings.Contains(lines[1], "dropped=0") {
		t.Errorf("the log says %q", lines)
	}
	s.safe()
}

func TestEachStreakOfFailuresIsOneWarning(t *testing.T) {
	var mu sync.Mutex
	broken := true
	setBroken := func(b bool) {
		mu.Lock()
		defer mu.Unlock()
		broken = b
	}
	s := connect(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if broken {
			w.WriteHeader(http.StatusBadGateway)
		}
	}).run()
	for streak := 1; streak <= 2; streak++ {
		setBroken(true)
		for i := range 3 {
			s.reload(1)
			s.lost(3*(streak-1) + i + 1)
		}
		setBroken(false)
		s.reload(1)
		s.told(streak)
	}
	text := strings.Join(s.alertLines(), "")
	if strings.Count(text, "level=WARN") != 2 || strings.Count(text, "alerts are delivered again") != 2 || strings.Count(text, "dropped=3") != 2 {
		t.Errorf("the log says %s", text)
	}
	if s.failures() != 2*3*maxTries {
		t.Errorf("%v failures", s.failures())
	}
}

func TestARedirectIsAFailureThatSaysWhatToSet(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		elsewhere := &far{}
		s := connect(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/services/"+token, code)
		})
		elsewhere.clock = s.clock
		elsewhere.Server = httptest.NewServer(elsewhere)
		t.Cleanup(elsewhere.Close)
		s.reload(1)
		s.run().lost(1)
		if got := elsewhere.got(); len(got) != 0 {
			t.Errorf("%d is followed", code)
		}
		s.warnedOnce("it answered "+status(code), "a redirect to "+elsewhere.URL+" that Reroll does not follow: set ALERT_WEBHOOK_URL")
		s.safe()
	}
}

// listen accepts connections and does something with them.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn)
			_ = conn.Close()
		}
	})
	return l.Addr().String()
}

// closed is an address where nobody listens.
func closed(t *testing.T) string {
	t.Helper()
	// The socket keeps the port and does not listen: a port that is given back may be that of the next server.
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(socket) })
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
}

func TestWhyThereWasNoAnswerIsSaidWithoutTheAddress(t *testing.T) {
	echo := func(c net.Conn) {
		// The first line of the answer is the one that was asked, address and all.
		line, _ := bufio.NewReader(c).ReadString('\n')
		_, _ = c.Write([]byte("HTTP/1.1 " + strings.TrimPrefix(line, "POST ")))
	}
	hangUp := func(c net.Conn) { _, _ = bufio.NewReader(c).ReadString('\n') }
	tlsServer := httptest.NewUnstartedServer(http.NotFoundHandler())
	tlsServer.Config.ErrorLog = log.New(io.Discard, "", 0)
	tlsServer.StartTLS()
	t.Cleanup(tlsServer.Close)
	plainServer := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plainServer.Close)
	proxy407 := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, token, http.StatusProxyAuthRequired)
	}))
	t.Cleanup(proxy407.Close)

	for about, tc := range map[string]struct {
		to, proxy, want string
	}{
		"nobody listens":           {"http://" + closed(t), "", "connect: connection refused"},
		"no such host":             {"http://nobody.invalid", "", "nobody.invalid"},
		"it echoes":                {"http://" + listen(t, echo), "", "the response is not HTTP"},
		"it hangs up":              {"http://" + listen(t, hangUp), "", "connection"},
		"an unknown certificate":   {tlsServer.URL, "", "certificate signed by unknown authority"},
		"no TLS":                   {strings.Replace(plainServer.URL, "http:", "https:", 1), "", "the response is not HTTP"},
		"the proxy is not there":   {"http://hooks.invalid", "http://" + closed(t), "the proxy in ALERT_WEBHOOK_PROXY: dial tcp 127.0.0.1"},
		"the proxy wants to know":  {"https://hooks.invalid", proxy407.URL, "the proxy answered 407 Proxy Authentication Required, see ALERT_WEBHOOK_PROXY"},
		"the proxy knows no SOCKS": {"https://hooks.invalid", "socks5://" + listen(t, func(net.Conn) {}), "socks connect tcp 127.0.0.1"},
	} {
		t.Run(about, func(t *testing.T) {
			s := connect(t, nil, func(o *AlertOptions) {
				s := &switchboard{T: t}
				o.URL = s.address(tc.to)
				if tc.proxy != "" {
					o.Proxy = s.address(tc.proxy)
				}
			})
			s.reload(1)
			s.run().lost(1)
			if s.failures() != maxTries {
				t.Errorf("%v failures", s.failures())
			}
			s.warnedOnce(tc.want)
			s.safe()
		})
	}
}

func TestAProxyIsAskedForTheReceiver(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.URL.String())
	}))
	t.Cleanup(proxy.Close)
	through, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}

	s := connect(t, nil, func(o *AlertOptions) {
		o.URL = &url.URL{Scheme: "http", Host: "hooks.invalid", Path: "/a"}
		o.Proxy = through
	})
	s.reload(1)
	s.run().told(1)
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(asked, ", "); got != "POST http://hooks.invalid/a" {
		t.Errorf("the proxy was asked for %q", got)
	}
}
