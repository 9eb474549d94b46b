package browser

import (
	"context"
	"encoding/json"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Beside is a further tab of the same window.
type Beside struct {
	context.Context
	Close func()
}

// Another opens a tab in the same window, with the same cookies. The other tabs are hidden then.
func (t *Tab) Another(address string) (*Beside, error) {
	in := chromedp.FromContext(t.Context)
	of := cdp.WithExecutor(t.Context, in.Browser)
	info, err := target.GetTargetInfo().WithTargetID(in.Target.TargetID).Do(of)
	if err != nil {
		return nil, err
	}
	id, err := target.CreateTarget(address).WithBrowserContextID(info.BrowserContextID).Do(of)
	if err != nil {
		return nil, err
	}
	ctx, closeTab := chromedp.NewContext(t.Context, chromedp.WithTargetID(id))
	return &Beside{ctx, closeTab}, chromedp.Run(ctx)
}

// Description returns what a screen reader reads after the name of an element.
func (t *Tab) Description(selector string) (text string, err error) {
	err = t.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		root, err := dom.GetDocument().Do(ctx)
		if err != nil {
			return err
		}
		node, err := dom.QuerySelector(root.NodeID, selector).Do(ctx)
		if err != nil {
			return err
		}
		all, err := accessibility.GetPartialAXTree().WithNodeID(node).WithFetchRelatives(false).Do(ctx)
		if err != nil || len(all) == 0 || all[0].Description == nil {
			return err
		}
		return json.Unmarshal(all[0].Description.Value, &text)
	}))
	return text, err
}
