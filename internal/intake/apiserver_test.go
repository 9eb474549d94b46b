package intake

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/test/cluster"
)

func TestOnAnAPIServer(t *testing.T) {
	c := borrow(t)
	t.Run("the state is streamed, changes are live, and Secrets of no interest never arrive", func(t *testing.T) { testStream(t, c) })
	t.Run("changes made while the connection is broken arrive live, without a second snapshot", func(t *testing.T) { testCut(t, c) })
	t.Run("a version that the server has forgotten leads to a snapshot", func(t *testing.T) { testForgotten(t, c) })
	t.Run("a version that the server has not seen leads to a snapshot without one", func(t *testing.T) { testUnknown(t, c) })
	t.Run("memory follows the largest object and not the sum", func(t *testing.T) { testMemory(t, c) })
	pages := start(t, "--feature-gates=WatchList=false")
	t.Run("a storage restored from a backup is noticed", func(t *testing.T) { testRestored(t, c, pages) })
	t.Run("a server that does not stream is asked for pages", func(t *testing.T) { testPages(t, pages) })
}

func testStream(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	secrets := newSecrets(t, c)
	secrets.put(t, "a", "1", "Opaque")
	secrets.put(t, "b", "1", "kubernetes.io/dockerconfigjson")
	secrets.put(t, "helm", "1", "helm.sh/release.v1")
	p := newProxy(t, c.Config())
	seen := watchBy(t, p.secrets(t, secrets.namespace))
	seen.await(t, "whole a b")
	seen.expect(t, "put a=1", "put b=1", "whole a b")

	secrets.put(t, "a", "2", "Opaque")
	secrets.put(t, "helm", "2", "helm.sh/release.v1")
	secrets.put(t, "token", "1", "bootstrap.kubernetes.io/token")
	secrets.remove(t, "b")
	secrets.remove(t, "helm")
	secrets.put(t, "c", "1", "Opaque")
	seen.await(t, "live c=1")
	seen.expect(t, "put a=1", "put b=1", "whole a b", "live a=2", "gone b", "live c=1")
	if p.pages() != 0 {
		t.Error("a list was asked for")
	}
}

func testCut(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	secrets := newSecrets(t, c)
	secrets.put(t, "a", "1", "Opaque")
	secrets.put(t, "b", "1", "Opaque")
	p := newProxy(t, c.Config())
	seen := watchBy(t, p.secrets(t, secrets.namespace))
	seen.await(t, "whole a b")
	for round := 2; round < 5; round++ {
		value := strconv.Itoa(round)
		p.cut()
		secrets.put(t, "a", value, "Opaque")
		secrets.put(t, "a", value+"'", "Opaque")
		p.pass(t)
		seen.await(t, "live a="+value+"'")
	}
	p.cut()
	secrets.remove(t, "b")
	p.pass(t)
	seen.await(t, "gone b")
	seen.expect(t, "put a=1", "put b=1", "whole a b",
		"live a=2", "live a=2'", "live a=3", "live a=3'", "live a=4", "live a=4'", "gone b")
	if got := p.streams(); len(got) != 1 {
		t.Errorf("snapshots were asked for with the versions %q, should be one", got)
	}
}

func testForgotten(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	secrets := newSecrets(t, c)
	secrets.put(t, "a", "1", "Opaque")
	secrets.put(t, "b", "1", "Opaque")
	p := newProxy(t, c.Config())
	seen := watchBy(t, p.secrets(t, secrets.namespace))
	seen.await(t, "whole a b")
	p.cut()
	secrets.put(t, "a", "2", "Opaque")
	secrets.remove(t, "b")
	p.forget()
	p.pass(t)
	seen.await(t, "whole a")
	secrets.put(t, "a", "3", "Opaque")
	seen.await(t, "live a=3")
	seen.expect(t, "put a=1", "put b=1", "whole a b", "put a=2", "whole a", "live a=3")
	seen.expectTold(t, "410")
	if got := p.streams(); len(got) != 2 || got[0] != "" || got[1] == "" {
		t.Errorf("snapshots were asked for with the versions %q, should be none, and the last one seen", got)
	}
}

func testUnknown(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	secrets := newSecrets(t, c)
	secrets.put(t, "a", "1", "Opaque")
	p := newProxy(t, c.Config())
	seen := watchBy(t, p.secrets(t, secrets.namespace))
	seen.await(t, "whole a")
	p.cut()
	p.forget(slices.Repeat([]string{"999999999999"}, mostRefusals)...)
	p.pass(t)
	seen.await(t, "put a=1")
	seen.await(t, "whole a")
	secrets.put(t, "a", "2", "Opaque")
	seen.await(t, "live a=2")
	seen.expect(t, "put a=1", "whole a", "put a=1", "whole a", "live a=2")
	seen.expectTold(t, "Too large resource version: 999999999999")
	if got := p.streams(); len(got) != mostRefusals+2 || got[mostRefusals] == "" || got[mostRefusals+1] != "" {
		t.Errorf("snapshots were asked for with the versions %q", got)
	}
}

// testRestored leads the feed to a cluster with a younger history, as one is after its storage was
// restored. That cluster has the stream turned off, so that the fallback to pages is part of it.
func testRestored(t *testing.T, c, other *cluster.Cluster) {
	t.Helper()
	now := newSecrets(t, c)
	before := newSecretsIn(t, other, now.namespace)
	now.put(t, "new", "1", "Opaque")
	for i := 1; i < 900; i++ {
		if now.version(t) > before.version(t)+500 {
			break
		}
		now.put(t, "new", strconv.Itoa(i), "Opaque")
	}
	before.put(t, "old", "1", "Opaque")
	p := newProxy(t, c.Config())
	seen := watchBy(t, p.secrets(t, now.namespace))
	seen.await(t, "whole new")
	p.cut()
	p.lead(t, other.Config())
	p.pass(t)
	seen.await(t, "whole old")
	before.put(t, "old", "2", "Opaque")
	seen.await(t, "live old=2")
	seen.expectTold(t, "restored from a backup")
}

func testPages(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	secrets := newSecrets(t, c)
	secrets.fill(t, 3*mostPerPage, []byte("1"))
	secrets.put(t, "helm", "1", "helm.sh/release.v1")
	p := newProxy(t, c.Config())
	seen := watchBy(t, p.secrets(t, secrets.namespace))
	secrets.put(t, "after", "1", "Opaque") // in the last page or live
	seen.awaitAny(t, "put after=1", "live after=1")
	secrets.put(t, "helm", "2", "helm.sh/release.v1")
	secrets.put(t, "after", "2", "Opaque")
	seen.await(t, "live after=2")
	if got := p.pages(); got != 5 { // of 20, 40, 80, 100 and what is left
		t.Errorf("%d pages were read, want 5", got)
	}
	lines, told := seen.all()
	if len(told) != 0 {
		t.Errorf("an older server is no failure, but told was %q", told)
	}
	if slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "helm") }) {
		t.Error("a Secret of no interest arrived")
	}
}

// Without a cache the server asks its storage, which forgets old versions: here after seconds
// instead of minutes.
func TestOnAnAPIServerWhoseStorageIsCompacted(t *testing.T) {
	c := start(t, "--watch-cache=false", "--etcd-compaction-interval=1s")
	secrets := newSecrets(t, c)
	secrets.put(t, "a", "1", "Opaque")
	secrets.put(t, "b", "1", "Opaque")
	p := newProxy(t, c.Config())
	seen := watchBy(t, p.secrets(t, secrets.namespace))
	seen.await(t, "whole a b")
	secrets.put(t, "a", "2", "Opaque")
	seen.await(t, "live a=2")
	last := secrets.version(t)
	p.cut()
	secrets.remove(t, "b")
	for i := 3; !secrets.forgotten(t, last); i++ {
		secrets.put(t, "a", strconv.Itoa(i), "Opaque")
	}
	secrets.put(t, "a", "end", "Opaque")
	p.pass(t)
	seen.await(t, "whole a")
	secrets.put(t, "a", "live", "Opaque")
	seen.await(t, "live a=live")
	seen.expect(t, "put a=1", "put b=1", "whole a b", "live a=2", "put a=end", "whole a", "live a=live")
	seen.expectTold(t, "too old")
	if _, told := seen.all(); slices.ContainsFunc(told, func(text string) bool { return strings.Contains(text, "fails each time") }) {
		t.Errorf("the version was asked for again and again, though it is gone for ever: %q", told)
	}
}
