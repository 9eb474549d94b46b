// Package browser opens the pages of Reroll in Chromium, as a reader does.
package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Patience bounds what would hang, and nothing else.
const Patience = 5 * time.Minute

// Chromium is a browser without a window.
type Chromium struct {
	ctx  context.Context
	stop func()
}

// names are those of the program on different systems.
func names() []string {
	return []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}
}

// Missing returns why there is no browser, or empty if there is one.
func Missing() string {
	if _, err := program(); err != nil {
		return "Chromium is not installed. Debian: apt-get install chromium"
	}
	return ""
}

func program() (string, error) {
	if named := os.Getenv("CHROMIUM"); named != "" {
		return named, nil
	}
	for _, name := range names() {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// Start starts a browser, which ends with Stop.
func Start(ctx context.Context) (*Chromium, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.NoSandbox, // root has no other way, and it opens no other pages
		chromedp.Flag("headless", "new"),
		chromedp.Flag("font-render-hinting", "none"),
		chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("hide-scrollbars", true),
		// Names of tests resolve to this machine.
		chromedp.Flag("host-resolver-rules", "MAP *.test 127.0.0.1"),
		chromedp.WSURLReadTimeout(Patience),
	)
	allocated, stopAllocator := chromedp.NewExecAllocator(ctx, options...)
	browser, stopBrowser := chromedp.NewContext(allocated)
	c := &Chromium{ctx: browser, stop: func() { stopBrowser(); stopAllocator() }}
	if err := chromedp.Run(browser); err != nil {
		c.stop()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return c, nil
}

// Stop ends the browser.
func (c *Chromium) Stop() { c.stop() }

// Look is how a reader looks at a page.
type Look struct {
	Width, Height int64
	Dark          bool
}

// Tab is a tab with cookies of its own.
type Tab struct {
	context.Context
	// Home is the address of the first page.
	Home string

	mu       sync.Mutex
	findings []string
	requests []string
}

// Open opens an empty tab, which closes with the returned function.
func (c *Chromium) Open(home string, look Look) (*Tab, func(), error) {
	id, err := c.window()
	if err != nil {
		return nil, nil, err
	}
	ctx, closeTab := chromedp.NewContext(c.ctx, chromedp.WithTargetID(id))
	t := &Tab{Context: ctx, Home: home}
	chromedp.ListenTarget(ctx, t.note)
	scheme := "light"
	if look.Dark {
		scheme = "dark"
	}
	err = chromedp.Run(ctx, network.Enable(), log.Enable(), runtime.Enable(),
		emulation.SetDeviceMetricsOverride(look.Width, look.Height, 1, look.Width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}))
	return t, closeTab, err
}

// window opens a window that shares no cookies with others. A tab needs a window, which a new
// context of a browser does not have.
func (c *Chromium) window() (id target.ID, err error) {
	of := cdp.WithExecutor(c.ctx, chromedp.FromContext(c.ctx).Browser)
	own, err := target.CreateBrowserContext().Do(of)
	if err != nil {
		return "", err
	}
	return target.CreateTarget("about:blank").WithBrowserContextID(own).WithNewWindow(true).Do(of)
}

// note keeps what no page may cause: errors of scripts, violations of the Content-Security-Policy,
// and requests to other hosts.
func (t *Tab) note(event any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		// A status other than 200 is no mistake of a page.
		if e.Entry.Source != log.SourceNetwork && e.Entry.Level != log.LevelInfo && e.Entry.Level != log.LevelVerbose {
			t.findings = append(t.findings, fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text))
		}
	case *runtime.EventExceptionThrown:
		t.findings = append(t.findings, "exception: "+e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			t.findings = append(t.findings, fmt.Sprintf("console.%s", e.Type))
		}
	case *network.EventRequestWillBeSent:
		t.requests = append(t.requests, e.Request.URL)
	}
}

// Findings are what the pages did that no page may do.
func (t *Tab) Findings(allowed ...string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.Clone(t.findings)
	for _, request := range t.requests {
		to, err := url.Parse(request)
		own := slices.ContainsFunc(append(allowed, t.Home), func(home string) bool { return strings.HasPrefix(request, home) })
		if err != nil || !own && to.Host != "" {
			all = append(all, "request to "+request)
		}
	}
	return all
}

// Do does something in the tab.
func (t *Tab) Do(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(t, Patience)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

// Go opens a page, and returns the status of the answer.
func (t *Tab) Go(page string) (status int64, err error) { return t.To(t.Home + page) }

// To opens an address, and returns the status of the answer.
func (t *Tab) To(address string) (status int64, err error) {
	ctx, cancel := context.WithTimeout(t, Patience)
	defer cancel()
	answer, err := chromedp.RunResponse(ctx, chromedp.Navigate(address))
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", address, err)
	}
	return answer.Status, nil
}

// Text returns what a reader sees of the page.
func (t *Tab) Text() (text string, err error) {
	err = t.Do(chromedp.Evaluate(`document.body ? document.body.innerText : ''`, &text))
	return text, err
}

// SignIn pastes a token into the form of the present page, and waits for the answer.
func (t *Tab) SignIn(token string) error {
	if err := t.Do(chromedp.SetValue("#token", token, chromedp.ByQuery), chromedp.Evaluate(`document.documentElement.dataset.sent = 'yes'; document.querySelector('form').requestSubmit()`, nil)); err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	for {
		var sent bool
		// Between two documents there is none to ask.
		err := t.Do(chromedp.Evaluate(`document.documentElement.dataset.sent === 'yes' || document.readyState !== 'complete'`, &sent))
		if err == nil && !sent {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Done():
			return fmt.Errorf("sign in: %w", errors.Join(err, t.Err()))
		}
	}
}

func evaluate(script string, result any) chromedp.Action { return chromedp.Evaluate(script, result) }
