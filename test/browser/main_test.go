package browser

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/test/stage"
)

var (
	shared *stage.Stage
	chrome *Chromium
)

func TestMain(m *testing.M) {
	if why := Missing(); why != "" {
		fmt.Fprintln(os.Stderr, why)
		os.Exit(1)
	}
	code := stage.RunAlone(m, "browser", 4, func(s *stage.Stage) { shared = s })
	if chrome != nil {
		chrome.Stop()
	}
	os.Exit(code)
}

// built is the scene that all tests look at. The watches of its namespaces last as long as the tests.
var built = sync.OnceValues(func() (*Scene, error) {
	ctx := context.Background()
	binary, err := shared.Binary()
	if err != nil {
		return nil, err
	}
	if chrome, err = Start(ctx); err != nil {
		return nil, err
	}
	return Build(ctx, shared.Harness, shared.Admin, binary, Trouble, "--settle=0s")
})

// browsing is a reader with a tab.
type browsing struct {
	*testing.T
	*Tab
	scene *Scene
	// allowed are other sites that the test opens.
	allowed []string
	// expected reports that the browser has refused something to another site.
	expected bool
}

// browse opens a tab. At the end of the test, no page may have done what no page may do.
func browse(t *testing.T, look Look) *browsing {
	t.Helper()
	scene, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return browseAt(t, scene, scene.Home, look)
}

// browseAt is browse for pages at another address.
func browseAt(t *testing.T, scene *Scene, home string, look Look) *browsing {
	t.Helper()
	tab, closeTab, err := chrome.Open(home, look)
	if err != nil {
		t.Fatal(err)
	}
	b := &browsing{T: t, Tab: tab, scene: scene}
	t.Cleanup(func() {
		defer closeTab()
		if t.Failed() {
			text, _ := tab.Text()
			t.Logf("the page:\n%s\nthe end of the log:\n%s", text, scene.Controller.Log.Tail(10))
		}
		for _, finding := range tab.Findings(b.allowed...) {
			if !b.expected {
				t.Error(finding)
			}
		}
	})
	return b
}

// desk is how most readers look at a page.
var desk = Look{Width: 1440, Height: 900}

// as signs a reader in.
func (b *browsing) as(reader string) *browsing {
	b.Helper()
	token, err := b.scene.Token(b.Tab, reader)
	b.must(err)
	_, err = b.Go("")
	b.must(err)
	b.must(b.SignIn(token))
	b.until("the cluster was read", func() bool {
		_, err := b.Go("")
		b.must(err)
		text, err := b.Text()
		b.must(err)
		return !strings.Contains(text, "Reading the cluster")
	})
	return b
}

func (b *browsing) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// opens goes to a page, which must have the status and contain the texts.
func (b *browsing) opens(page string, status int64, texts ...string) {
	b.Helper()
	got, err := b.Go(page)
	b.must(err)
	if got != status {
		b.Errorf("%s answers %d, want %d", page, got, status)
	}
	b.shows(texts...)
}

// shows waits until the page contains the texts.
func (b *browsing) shows(texts ...string) {
	b.Helper()
	for _, text := range texts {
		b.until("it shows "+text, func() bool {
			page, err := b.Text() // between two documents there is none to ask
			return err == nil && strings.Contains(page, text)
		})
	}
}

func (b *browsing) hides(texts ...string) {
	b.Helper()
	page, err := b.Text()
	b.must(err)
	for _, text := range texts {
		if strings.Contains(page, text) {
			b.Errorf("the page shows %q:\n%s", text, page)
		}
	}
}

// until waits until it is so.
func (b *browsing) until(what string, is func() bool) {
	b.Helper()
	for end := time.Now().Add(Patience); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("not so within %s: %s", Patience, what)
		}
	}
}

// serve serves a page of another site, and returns its address.
func serve(t *testing.T, page string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return "http://other.test:" + port + "/"
}
