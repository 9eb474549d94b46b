package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/reroll-dev/reroll/test/harness"
)

// command runs reroll ui with contexts of readers until the end of the test.
func command(t *testing.T, contexts []Context, args ...string) (*Command, *Scene) {
	t.Helper()
	scene, err := built()
	if err != nil {
		t.Fatal(err)
	}
	for i := range contexts {
		if contexts[i].Token, err = scene.Token(t.Context(), contexts[i].Token); err != nil {
			t.Fatal(err)
		}
	}
	path, err := Kubeconfig(t.TempDir(), shared.Cluster.Config(), contexts...)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := shared.Binary()
	if err != nil {
		t.Fatal(err)
	}
	// It ends by Ctrl+C, not with the context of the test.
	c, err := Run(context.WithoutCancel(t.Context()), binary, path, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("reroll ui after Ctrl+C: %v", err)
		}
	})
	return c, scene
}

// read waits until the cluster was read.
func (b *browsing) read() {
	b.Helper()
	b.until("the cluster was read", func() bool {
		text, err := b.Text()
		return err == nil && !strings.Contains(text, "Reading ")
	})
}

func TestTheCommandServesItsUser(t *testing.T) {
	t.Parallel()
	c, scene := command(t, []Context{{Name: "mine", Token: All}}, "--no-open")
	b := browseAt(t, scene, c.Home, desk)
	status, err := b.To(c.Link)
	b.must(err)
	if status != 200 {
		t.Errorf("the link answers %d", status)
	}
	b.read()
	b.shows("checkout", "waiting", "orphan", "missing", "accounts")
	for name, page := range pages() {
		_, err := b.Go(page)
		b.must(err)
		b.lives()
		b.fits(name)
	}
	b.opens("controller", 200, "These pages read the cluster with your kubeconfig alone")
	b.opens("workload?ns=shop&kind=Deployment&name=web", 200, "greeting", "up-to-date", "Reloaded")
	before, err := b.scene.Shop.Rolls(b.Tab, harness.Ref{Kind: "deployment", Name: "web"})
	b.must(err)
	b.lives()
	b.edits()
	b.shows(fmt.Sprintf("%d reloads", before+1))

	// The audit log has each request of this reader, who uses no other program.
	log, err := os.ReadFile(shared.Cluster.AuditLog())
	b.must(err)
	read := 0
	for line := range bytes.Lines(log) {
		if !bytes.Contains(line, []byte(`"username":"system:serviceaccount:readers:all"`)) {
			continue
		}
		read++
		for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection"} {
			if bytes.Contains(line, []byte(`"verb":"`+verb+`"`)) {
				t.Errorf("the command writes: %s", line)
			}
		}
	}
	if read == 0 {
		t.Error("the audit log has no request of the command")
	}
}

func TestTheCommandServesNobodyElse(t *testing.T) {
	t.Parallel()
	c, scene := command(t, []Context{{Name: "mine", Token: All}}, "--no-open", "-n", "shop")
	b := browseAt(t, scene, c.Home, desk)
	_, err := b.To(c.Link)
	b.must(err)
	b.read()
	b.shows("checkout")
	b.hides("accounts")

	another := browseAt(t, scene, c.Home, desk)
	origin := strings.Join(strings.Split(c.Home, "/")[:3], "/") + "/"
	another.allowed = append(another.allowed, origin)
	for _, address := range []string{c.Home, c.Link, c.Home + "workload?ns=shop&kind=Deployment&name=web", c.Home + "live", origin} {
		status, err := another.To(address)
		another.must(err)
		if status != 403 {
			t.Errorf("%s answers another browser %d", address, status)
		}
		another.shows("Open the link that reroll ui has printed")
	}

	// The name of another site resolves to this machine.
	renamed := strings.Replace(c.Home, "127.0.0.1", "other.test", 1)
	b.allowed = append(b.allowed, strings.Replace(origin, "127.0.0.1", "other.test", 1))
	status, err := b.To(renamed)
	b.must(err)
	if status != http.StatusMisdirectedRequest {
		t.Errorf("%s answers %d", renamed, status)
	}
	b.shows("This is not the address of reroll ui")

	other := serve(t, `<!doctype html><title>other</title><iframe src="`+c.Home+`"></iframe>`)
	b.allowed, b.expected = append(b.allowed, other), true
	b.must(b.Do(chromedp.Navigate(other)))
	var got string
	b.must(b.Do(chromedp.Evaluate(`fetch('`+c.Home+`', {credentials: 'include', mode: 'no-cors'}).then(r => r.text()).then(t => 'read ' + t.length, e => 'refused')`, &got, awaitPromise)))
	if got != "refused" && got != "read 0" {
		t.Errorf("another site has %s", got)
	}
	for method, want := range map[string]int{http.MethodGet: 403, http.MethodPost: 405, http.MethodDelete: 405} {
		request, err := http.NewRequestWithContext(b.Tab, method, c.Home, http.NoBody)
		b.must(err)
		answer, err := http.DefaultClient.Do(request)
		b.must(err)
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s without the cookie answers %s", method, answer.Status)
		}
	}
}

func TestTheCommandShowsSeveralClusters(t *testing.T) {
	t.Parallel()
	contexts := []Context{{Name: "east", Token: All}, {Name: "west", Token: Some}, {Name: "down", Token: All, Server: "https://127.0.0.1:1"}}
	c, scene := command(t, contexts, "--no-open", "--context", "east", "--context", "west", "--context", "down")
	b := browseAt(t, scene, c.Home, desk)
	_, err := b.To(c.Link)
	b.must(err)
	b.shows("down cannot be read.", "Trying again every few seconds")
	b.until("both clusters are shown", func() bool {
		_, err := b.Go("?q=checkout")
		b.must(err)
		text, err := b.Text()
		return err == nil && strings.Contains(text, "east / shop") && !strings.Contains(text, "Reading east")
	})
	b.opens("workload?cluster=east&ns=bank&kind=Deployment&name=accounts", 200, "accounts")
	b.opens("workload?cluster=west&ns=bank&kind=Deployment&name=accounts", 404)
	b.opens("workload?cluster=down&ns=bank&kind=Deployment&name=accounts", 503, "was not read yet")
	b.opens("workload?ns=bank&kind=Deployment&name=accounts", 404, "There is no cluster of this name")
}

func TestTheArgumentsOfTheBrowserHaveNoToken(t *testing.T) {
	folder := t.TempDir()
	opened := filepath.Join(folder, "opened")
	script := "#!/bin/sh\necho \"$*\" > " + opened + ".new && mv " + opened + ".new " + opened + "\n"
	if err := os.WriteFile(filepath.Join(folder, "xdg-open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	c, scene := command(t, []Context{{Name: "mine", Token: All}})
	b := browseAt(t, scene, c.Home, desk)
	var arguments []byte
	b.until("the browser is opened", func() bool {
		var err error
		arguments, err = os.ReadFile(opened)
		return err == nil
	})
	file := strings.TrimSpace(string(arguments))
	if strings.Contains(file, c.Link[strings.Index(c.Link, "=")+1:]) {
		t.Fatalf("other users of the machine see %s", file)
	}
	info, err := os.Stat(file)
	b.must(err)
	of, err := os.Stat(filepath.Dir(file))
	b.must(err)
	if info.Mode().Perm() != 0o600 || of.Mode().Perm() != 0o700 {
		t.Errorf("the file has the mode %s in %s", info.Mode(), of.Mode())
	}
	b.allowed = append(b.allowed, "file://"+file)
	b.must(b.Do(chromedp.Navigate("file://" + file)))
	b.shows("checkout")
	b.must(c.Stop())
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}
