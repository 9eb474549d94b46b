package web

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/inspect"
)

// events reads the versions of a stream.
func events(t *testing.T, server *httptest.Server) <-chan string {
	t.Helper()
	response, err := server.Client().Get(server.URL + "/live")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("%d %s", response.StatusCode, kind)
	}
	all := make(chan string, 100)
	go func() {
		defer close(all)
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			if version, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				all <- version
			}
		}
	}()
	return all
}

func TestABrowserIsToldOfEachChangeAtMostOnceASecond(t *testing.T) {
	view, began := inspect.NewView("", clock.RealClock{}), time.Now() // the first update arrives later than it is sent
	stream := events(t, serve(t, everything, view))
	first := <-stream
	for i := range 50 {
		view.Fail(strings.Repeat("x", i+1))
	}
	second := <-stream
	if second == first {
		t.Error("the version is the same after a change")
	}
	if took := time.Since(began); took < pace {
		t.Errorf("two updates within %s", took)
	}
	if waiting := len(stream); waiting > 0 {
		t.Errorf("%d further updates at once", waiting)
	}
}

// Otherwise a page would go on after the session, or the permission, has ended.
func TestAStreamEndsWithTheSession(t *testing.T) {
	var gone atomic.Bool
	view := inspect.NewView("", clock.RealClock{})
	handler := New([]Cluster{view}, func(*http.Request) (Reader, error) {
		if gone.Load() {
			return nil, errStranger
		}
		return everything, nil
	}, Options{Clock: clock.RealClock{}})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	stream := events(t, server)
	<-stream
	gone.Store(true)
	view.Fail("a change")
	if version, open := <-stream; open {
		t.Errorf("another update: %s", version)
	}
}

func TestAnotherProcessHasAnotherVersion(t *testing.T) {
	view := inspect.NewView("", clock.RealClock{})
	before, after := <-events(t, serve(t, everything, view)), <-events(t, serve(t, everything, view))
	if before == after {
		t.Error("a browser would not fetch the page again after a restart")
	}
}

// Otherwise a browser would not notice what has changed between the page and the start of its stream.
func TestAPageHasTheVersionOfItsContent(t *testing.T) {
	view := inspect.NewView("", clock.RealClock{})
	server := serve(t, everything, view)
	before := <-events(t, server)
	for range 2 {
		response, err := server.Client().Get(server.URL + "/")
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(response.Body)
		if err != nil || response.Body.Close() != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), `data-version="`+before+`"`) {
			t.Errorf("the version %s is not in the page:\n%s", before, page)
		}
		view.Fail("down")
		before = <-events(t, server)
	}
}
