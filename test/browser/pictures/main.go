// Command pictures makes the pictures of the pages in docs/images, from a controller on a throwaway
// cluster. With -all, it writes each page in each size, light and dark, into a folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/reroll-dev/reroll/test/browser"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

func main() {
	into := flag.String("o", "../../docs/images", "the folder of the pictures")
	all := flag.String("all", "", "write all pages into this folder instead")
	trouble := flag.Bool("trouble", false, "with -all, show what the tests look at")
	flag.Parse()
	klog.SetLogger(logr.Discard()) // the client library logs each watch that ends with its cluster
	if err := run(*into, *all, *trouble); err != nil {
		fmt.Fprintf(os.Stderr, "The pictures were not made: %v\n", err)
		os.Exit(1)
	}
}

func run(into, all string, trouble bool) (err error) {
	if why := browser.Missing(); why != "" {
		return errors.New(why)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	folder, err := os.MkdirTemp("", "reroll-pictures-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	binary := func() (string, error) { return harness.Build(ctx, folder, false) }
	own, err := stage.New(ctx, binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Cluster.Stop()) }()
	built, err := binary()
	if err != nil {
		return err
	}
	// Pods that start right after an edit may be as old as the data by the clock of the API server.
	play, settle := browser.Everyday, "--settle=6s"
	if trouble {
		play, settle = browser.Trouble, "--settle=0s"
	}
	scene, err := browser.Build(ctx, own.Harness, own.Admin, built, play, settle)
	if err != nil {
		return err
	}
	defer scene.Controller.Kill()
	chromium, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer chromium.Stop()
	p := &photographer{scene, chromium}
	if all != "" {
		return p.all(ctx, all)
	}
	return p.docs(ctx, into)
}

type photographer struct {
	scene    *browser.Scene
	chromium *browser.Chromium
}

// shot is a picture of a page.
type shot struct {
	name, page string
	look       browser.Look
	// point is a selector of what the pointer is at, empty for nothing.
	point string
}

// greeting is a source on the map.
const greeting = `#columns a[title="greeting"]`

// docs makes the pictures of the documentation.
func (p *photographer) docs(ctx context.Context, into string) error {
	desk, phone := browser.Look{Width: 1200, Height: 760}, browser.Look{Width: 390, Height: 760, Dark: true}
	for _, one := range []shot{
		{name: "ui-now", look: desk},
		{name: "ui-map", page: "map?ns=shop", look: desk, point: greeting},
		{name: "ui-workload", page: "workload?ns=shop&kind=Deployment&name=web", look: browser.Look{Width: 1200, Height: 620}},
		{name: "ui-gates", page: "gates", look: browser.Look{Width: 1200, Height: 980}},
		{name: "ui-phone", look: phone},
	} {
		if err := p.take(ctx, one, filepath.Join(into, one.name+".webp"), true); err != nil {
			return err
		}
	}
	return nil
}

// all makes a picture of each page in each size, light and dark.
func (p *photographer) all(ctx context.Context, into string) error {
	for name, address := range map[string]string{
		"now": "", "map": "map", "workload": "workload?ns=shop&kind=Deployment&name=web", "waits": "workload?ns=shop&kind=Deployment&name=checkout",
		"source": "source?ns=shop&kind=ConfigMap&name=limits", "gates": "gates", "controller": "controller",
		"absent": "workload?ns=shop&kind=Deployment&name=nothing", "hostile": "workload?ns=shop&kind=Deployment&name=hostile",
		"long": "source?ns=shop&kind=ConfigMap&name=" + browser.Long, "empty": "?q=nothing",
	} {
		for _, width := range []int64{1440, 800, 390} {
			for scheme, dark := range map[string]bool{"light": false, "dark": true} {
				file := filepath.Join(into, fmt.Sprintf("%s-%d-%s.png", name, width, scheme))
				one := shot{name: name, page: address, look: browser.Look{Width: width, Height: 900, Dark: dark}}
				if name == "map" {
					one.point = greeting
				}
				if err := p.take(ctx, one, file, false); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// take writes one picture: of the window for the documentation, and otherwise of the whole page.
func (p *photographer) take(ctx context.Context, one shot, file string, small bool) error {
	tab, closeTab, err := p.chromium.Open(p.scene.Home, one.look)
	if err != nil {
		return err
	}
	defer closeTab()
	token, err := p.scene.Token(ctx, browser.All)
	if err != nil {
		return err
	}
	if _, err := tab.Go(one.page); err != nil {
		return err
	}
	if err := tab.SignIn(token); err != nil {
		return err
	}
	for end := time.Now().Add(browser.Patience); ; {
		live := false
		err := tab.Do(chromedp.Evaluate(`document.getElementById('pulse-text')?.textContent === 'live' && !document.querySelector('#clusters .banner')`, &live))
		if err == nil && live {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s is not live: %w", one.name, err)
		}
		if _, err := tab.Go(one.page); err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	if one.point != "" {
		if err := tab.Do(chromedp.Evaluate("document.querySelector(`"+one.point+"`).dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))", nil)); err != nil {
			return err
		}
	}
	var picture []byte
	if small {
		err = tab.Do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
			picture, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatWebp).WithQuality(90).Do(ctx)
			return err
		}))
	} else {
		err = tab.Do(chromedp.FullScreenshot(&picture, 100))
	}
	if err != nil {
		return fmt.Errorf("take a picture of %s: %w", one.name, err)
	}
	fmt.Printf("%s: %d KB\n", file, len(picture)>>10)
	return os.WriteFile(file, picture, 0o644) //nolint:gosec // anybody may see it
}
