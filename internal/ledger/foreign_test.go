package ledger_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
)

var (
	localCA   = source.LocalKey{Kind: source.ConfigMap, Name: "ca"}
	foreignCA = source.LocalKey{Kind: source.ConfigMap, Name: "infra/ca"}
)

func TestSourcesOfOtherNamespacesHaveAPlaceThatEarlierVersionsIgnore(t *testing.T) {
	l := ledger.Ledger{UID: "u", Entries: map[source.LocalKey]digest.Digest{localCA: {1}, foreignCA: {2}}, Aggregates: map[source.Kind]ledger.Total{}}
	text := l.String()
	// An earlier version reads these fields alone, and finds nothing about another namespace there.
	var earlier struct {
		Format int                      `json:"v"`
		CM     map[string]digest.Digest `json:"cm"`
	}
	if err := json.Unmarshal([]byte(text), &earlier); err != nil || earlier.Format != 1 {
		t.Fatalf("%s: format %d, %v", text, earlier.Format, err)
	}
	if diff := cmp.Diff(map[string]digest.Digest{"ca": {1}}, earlier.CM); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err := ledger.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAForgedPlaceInALedgerIsRefused(t *testing.T) {
	sum := strings.Repeat("ab", 16)
	for name, text := range map[string]string{
		"another namespace among its own": `{"v":1,"cm":{"infra/ca":"` + sum + `"}}`,
		"its own among the others":        `{"v":1,"far":{"cm":{"ca":"` + sum + `"}}}`,
		"no namespace":                    `{"v":1,"far":{"secret":{"/ca":"` + sum + `"}}}`,
		"a kind without other namespaces": `{"v":1,"far":{"spc":{"infra/ca":"` + sum + `"}}}`,
		"a digest that is none":           `{"v":1,"far":{"cm":{"infra/ca":"00"}}}`,
		"a list":                          `{"v":1,"far":["cm"]}`,
	} {
		if got, err := ledger.Parse(text); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, err := ledger.Parse(`{"v":1,"far":{"unknown":{"infra/ca":"` + sum + `"}}}`); err != nil || len(got.Entries) > 0 {
		t.Errorf("a kind of a later version: %v, %v", got.Entries, err)
	}
}

func TestOneDigestForAllNeverCoversAnotherNamespace(t *testing.T) {
	entries := merged(entriesOf(source.ConfigMap, 4500, "a"), map[source.LocalKey]digest.Digest{foreignCA: {2}})
	l := ledger.Ledger{UID: "u", Entries: entries}
	got, err := ledger.Parse(l.String())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Entries) != 1 || got.Entries[foreignCA] != (digest.Digest{2}) || got.Aggregates[source.ConfigMap].Count != 4500 {
		t.Errorf("entries %v, one for all %v", got.Entries, got.Aggregates)
	}
	without := entriesOf(source.ConfigMap, 4500, "a")
	if ledger.Aggregate(source.ConfigMap, entries) != ledger.Aggregate(source.ConfigMap, without) {
		t.Error("the digest for all depends on another namespace")
	}
}

func TestALedgerWithAsManySourcesOfOtherNamespacesAsAllowed(t *testing.T) {
	entries := map[source.LocalKey]digest.Digest{}
	for i := range 16 {
		for _, kind := range []source.Kind{source.ConfigMap, source.Secret} {
			name := fmt.Sprintf("%s%02d/%s", strings.Repeat("n", 61), i, strings.Repeat("x", 253))
			entries[source.LocalKey{Kind: kind, Name: name}] = digest.Digest{1}
		}
	}
	l := full()
	l.Entries, l.Gone = entries, map[source.LocalKey]struct{}{}
	for key := range entries {
		l.Gone[key] = struct{}{}
	}
	text := l.String()
	if got, err := ledger.Parse(text); err != nil || len(got.Entries) != 32 || len(got.Gone) != 32 || len(got.Certificates) != ledger.MaxCertificates || len(text) > ledgerLimit-512 {
		t.Errorf("%d bytes with %d entries, of which %d are gone, %v", len(text), len(got.Entries), len(got.Gone), err)
	}
	l.Entries = merged(entries, entriesOf(source.ConfigMap, 4500, "a"), entriesOf(source.Secret, 4500, "a"))
	if got, err := ledger.Parse(l.String()); err != nil || len(got.Entries) != 32 || len(got.Aggregates) != 2 {
		t.Errorf("beside many others: %d entries, %v", len(got.Entries), err)
	}
}

func TestAnEntryOfAnotherNamespaceNeedsASignature(t *testing.T) {
	key := func(of string) digest.Key {
		k, err := digest.NewKey([]byte(strings.Repeat(of, 32)))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	signed := func() ledger.Ledger {
		l := ledger.Ledger{UID: "u", Entries: map[source.LocalKey]digest.Digest{localCA: {1}, foreignCA: {2}}}
		l.SignForeign(key("a"))
		parsed, err := ledger.Parse(l.String())
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for name, tc := range map[string]struct {
		change func(*ledger.Ledger)
		with   digest.Key
		want   int
	}{
		"its own":          {func(*ledger.Ledger) {}, key("a"), 2},
		"other data":       {func(l *ledger.Ledger) { l.Entries[foreignCA] = digest.Digest{} }, key("a"), 2},
		"without a key":    {func(l *ledger.Ledger) { l.Consented = "" }, digest.Key{}, 2},
		"another key":      {func(*ledger.Ledger) {}, key("b"), 1},
		"none":             {func(l *ledger.Ledger) { l.Consented = "" }, key("a"), 1},
		"another workload": {func(l *ledger.Ledger) { l.UID = "v" }, key("a"), 1},
		"one source more": {func(l *ledger.Ledger) {
			l.Entries[source.LocalKey{Kind: source.ConfigMap, Name: "infra/x"}] = digest.Digest{}
		}, key("a"), 1},
		"another kind": {func(l *ledger.Ledger) {
			delete(l.Entries, foreignCA)
			l.Entries[source.LocalKey{Kind: source.Secret, Name: "infra/ca"}] = digest.Digest{}
		}, key("a"), 1},
		"none of a foreign": {func(l *ledger.Ledger) { delete(l.Entries, foreignCA) }, key("a"), 1},
	} {
		l := signed()
		tc.change(&l)
		if l.DropUnsigned(tc.with); len(l.Entries) != tc.want {
			t.Errorf("%s: %d entries, want %d", name, len(l.Entries), tc.want)
		}
	}
	own := signed()
	delete(own.Entries, foreignCA)
	if own.SignForeign(key("a")); own.Consented != "" {
		t.Errorf("a signature about nothing: %s", own)
	}
}

// full has the longest value in each field that is not about sources, and as many certificates as
// there may be.
func full() ledger.Ledger {
	const uid, most = "00000000-0000-0000-0000-000000000000", ledger.MaxCounter
	sum := digest.Digest{1}
	l := ledger.Ledger{
		UID: uid, Instance: strings.Repeat("i", 32), Counter: most, DataTime: source.MaxTime, Marks: sum, Step: 1, OnDelete: true, Selecting: sum, Run: uid,
		NotifiedAt: source.MaxTime, ChurnUntil: source.MaxTime, Turn: ledger.Turn{At: source.MaxTime, Template: sum, Broken: true, Again: true}, Noted: sum, Writes: most, Consented: strings.Repeat("s", 64),
		Certificates: map[string]source.Certificate{},
	}
	for range ledger.MaxSuperseded {
		l.Superseded = append(l.Superseded, sum)
	}
	for i := range ledger.MaxCertificates {
		name := strings.Repeat("c", ledger.MaxCertificateNames/ledger.MaxCertificates-2) + fmt.Sprintf("%02d", i)
		l.Certificates[name] = source.Certificate{NotBefore: source.MaxTime, NotAfter: source.MaxTime}
	}
	return l
}

func TestASourceOfAnotherNamespaceThatIsGoneHasOnePlace(t *testing.T) {
	l := ledger.Ledger{
		UID: "u", OnDelete: true, Aggregates: map[source.Kind]ledger.Total{},
		Entries: map[source.LocalKey]digest.Digest{localCA: {1}, foreignCA: {2}},
		Gone:    map[source.LocalKey]struct{}{localCA: {}, foreignCA: {}},
	}
	text := l.String()
	if got, err := ledger.Parse(text); err != nil || cmp.Diff(l, got) != "" {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(l, got))
	}
	if strings.Count(text, foreignCA.Name) != 1 {
		t.Error(text)
	}
	if got, err := ledger.Parse(`{"v":1,"farGone":{"cm":{"ca":"` + strings.Repeat("ab", 16) + `"}}}`); err == nil {
		t.Errorf("its own among the others: %+v", got)
	}
}
