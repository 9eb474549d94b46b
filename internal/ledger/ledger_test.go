package ledger_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
)

const ledgerLimit = 16 << 10

func entriesOf(kind source.Kind, count int, prefix string) map[source.LocalKey]digest.Digest {
	entries := map[source.LocalKey]digest.Digest{}
	for i := range count {
		entries[source.LocalKey{Kind: kind, Name: fmt.Sprintf("%s-%d", prefix, i)}] = digest.Digest{byte(kind), byte(i), byte(i >> 8)}
	}
	return entries
}

func merged(all ...map[source.LocalKey]digest.Digest) map[source.LocalKey]digest.Digest {
	entries := map[source.LocalKey]digest.Digest{}
	for _, some := range all {
		maps.Copy(entries, some)
	}
	return entries
}

func TestLedgerText(t *testing.T) {
	for name, tc := range map[string]struct {
		ledger ledger.Ledger
		want   string
	}{
		"a new one": {
			ledger.Ledger{UID: "u-1"},
			`{"v":1,"uid":"u-1","n":0}`,
		},
		"one of every kind": {
			ledger.Ledger{UID: "u-1", Instance: "a2bfbba4", Counter: 3, Entries: map[source.LocalKey]digest.Digest{
				{Kind: source.ConfigMap, Name: "web"}:             {0xab},
				{Kind: source.ConfigMap, Name: "app.conf"}:        {0xcd},
				{Kind: source.Secret, Name: "web"}:                {0xef},
				{Kind: source.SecretProviderClass, Name: "vault"}: {0x01},
			}},
			`{"v":1,"uid":"u-1","key":"a2bfbba4","n":3,` +
				`"cm":{"app.conf":"cd000000000000000000000000000000","web":"ab000000000000000000000000000000"},` +
				`"secret":{"web":"ef000000000000000000000000000000"},` +
				`"spc":{"vault":"01000000000000000000000000000000"}}`,
		},
		"one for all of a kind": {
			ledger.Ledger{UID: "u-1", Aggregates: map[source.Kind]ledger.Total{source.ConfigMap: total(0xab), source.Secret: total(0xcd), source.SecretProviderClass: total(0xef)}},
			`{"v":1,"uid":"u-1","n":0,"all":{"cm":{"sum":"ab000000000000000000000000000000","count":7},"secret":{"sum":"cd000000000000000000000000000000","count":7},"spc":{"sum":"ef000000000000000000000000000000","count":7}}}`,
		},
		"entries beside one for all of them, which says less": {
			ledger.Ledger{
				Entries:    map[source.LocalKey]digest.Digest{{Kind: source.ConfigMap, Name: "web"}: {0xab}},
				Aggregates: map[source.Kind]ledger.Total{source.ConfigMap: total(0xcd)},
			},
			`{"v":1,"uid":"","n":0,"cm":{"web":"ab000000000000000000000000000000"}}`,
		},
		"one of which a receiver was told":                          {ledger.Ledger{UID: "u-1", NotifiedAt: 1754800000}, `{"v":1,"uid":"u-1","n":0,"told":1754800000}`},
		"one that was written during the rollout of another client": {ledger.Ledger{UID: "u-1", Superseded: []digest.Digest{{0xab}}}, `{"v":1,"uid":"u-1","n":0,"old":["ab000000000000000000000000000000"]}`},
		"one with a certificate":                                    {ledger.Ledger{UID: "u-1", Certificates: map[string]source.Certificate{"web": {NotBefore: 1754800000, NotAfter: 1762576000}}}, `{"v":1,"uid":"u-1","n":0,"cert":{"web":{"from":1754800000,"until":1762576000}}}`},
		"what is no source gets lost": {
			ledger.Ledger{
				Entries:    map[source.LocalKey]digest.Digest{{Kind: 77, Name: "web"}: {0xab}},
				Aggregates: map[source.Kind]ledger.Total{0: total(0xcd)},
			},
			`{"v":1,"uid":"","n":0}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				if diff := cmp.Diff(tc.want, tc.ledger.String()); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			}
			if _, err := ledger.Parse(tc.want); err != nil {
				t.Errorf("the text is refused: %v", err)
			}
		})
	}
}

func total(first byte) ledger.Total { return ledger.Total{Digest: digest.Digest{first}, Count: 7} }

func TestLedgerRoundTrip(t *testing.T) {
	for name, l := range map[string]ledger.Ledger{
		"superseded": {Superseded: []digest.Digest{{1}, {2}}, Entries: merged(), Aggregates: map[source.Kind]ledger.Total{}},
		"empty":      {Entries: merged(), Aggregates: map[source.Kind]ledger.Total{}},
		"entries":    {UID: "u", Instance: "k", Counter: 9, DataTime: 1754800000, NotifiedAt: 1754800001, Entries: merged(entriesOf(source.ConfigMap, 5, "a"), entriesOf(source.Secret, 5, "a"), entriesOf(source.SecretProviderClass, 5, "a")), Aggregates: map[source.Kind]ledger.Total{}},
		"gone": {UID: "u", OnDelete: true, Entries: entriesOf(source.Secret, 3, "a"), Aggregates: map[source.Kind]ledger.Total{},
			Gone: map[source.LocalKey]struct{}{{Kind: source.Secret, Name: slices.Collect(maps.Keys(entriesOf(source.Secret, 3, "a")))[0].Name}: {}}},
		"certificates": {Certificates: map[string]source.Certificate{"web": {NotAfter: 1}, "api": {NotBefore: 5, NotAfter: 253402300799}}, Entries: merged(), Aggregates: map[source.Kind]ledger.Total{}},
		"mixed":        {UID: "u", Entries: entriesOf(source.Secret, 3, "a"), Aggregates: map[source.Kind]ledger.Total{source.ConfigMap: total(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ledger.Parse(l.String())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(l, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLedgerStaysSmall(t *testing.T) {
	digests := func(kinds ...source.Kind) map[source.Kind]bool {
		set := map[source.Kind]bool{}
		for _, kind := range kinds {
			set[kind] = true
		}
		return set
	}
	long := strings.Repeat("x", 240)
	for name, tc := range map[string]struct {
		entries map[source.LocalKey]digest.Digest
		want    map[source.Kind]bool // the kinds that collapse
	}{
		"a few":                 {merged(entriesOf(source.ConfigMap, 50, "a"), entriesOf(source.Secret, 50, "a")), digests()},
		"thousands of one kind": {merged(entriesOf(source.ConfigMap, 4500, "a"), entriesOf(source.Secret, 50, "a")), digests(source.ConfigMap)},
		"thousands of two":      {merged(entriesOf(source.ConfigMap, 4500, "a"), entriesOf(source.Secret, 2000, "a"), entriesOf(source.SecretProviderClass, 3, "a")), digests(source.ConfigMap, source.Secret)},
		"thousands of all":      {merged(entriesOf(source.ConfigMap, 1000, "a"), entriesOf(source.Secret, 2000, "a"), entriesOf(source.SecretProviderClass, 3000, "a")), digests(source.ConfigMap, source.Secret, source.SecretProviderClass)},
		"the room counts, not the number of entries": {merged(entriesOf(source.ConfigMap, 100, "a"), entriesOf(source.Secret, 50, long)), digests(source.Secret)},
	} {
		t.Run(name, func(t *testing.T) {
			l := ledger.Ledger{UID: "u", Counter: 1, Entries: tc.entries}
			before := len(tc.entries)
			text := l.String()
			if len(text) > ledgerLimit {
				t.Errorf("the text has %d bytes", len(text))
			}
			got, err := ledger.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			collapsed := digests()
			for kind, all := range got.Aggregates {
				collapsed[kind] = true
				want := ledger.Total{Digest: ledger.Aggregate(kind, tc.entries)}
				for key := range tc.entries {
					if key.Kind == kind {
						want.Count++
					}
				}
				if all != want {
					t.Errorf("%s: got %v, want %v", kind, all, want)
				}
			}
			if diff := cmp.Diff(tc.want, collapsed); diff != "" {
				t.Errorf("kinds that collapsed (-want +got):\n%s", diff)
			}
			for key, digest := range tc.entries {
				if kept, ok := got.Entries[key]; ok == tc.want[key.Kind] || ok && kept != digest {
					t.Fatalf("%s: got %v, kept %v", key, kept, ok)
				}
			}
			bounded := l.Bounded()
			if diff := cmp.Diff(got.Entries, bounded.Entries); diff != "" {
				t.Errorf("the text is not that of the bounded ledger (-text +bounded):\n%s", diff)
			}
			if len(l.Entries) != before || l.Aggregates != nil {
				t.Error("the ledger itself was changed")
			}
		})
	}
}

func TestLedgerUsesAllTheRoom(t *testing.T) {
	empty := len(ledger.Ledger{}.String()) + len(`,"cm":{}`)
	name := strings.Repeat("x", ledgerLimit-empty-len(`"":""`)-32)
	for extra, want := range map[string]int{"": 1, "x": 0} {
		ledger := ledger.Ledger{Entries: map[source.LocalKey]digest.Digest{{Kind: source.ConfigMap, Name: name + extra}: {}}}
		if got := len(ledger.Bounded().Entries); got != want {
			t.Errorf("%d bytes over the limit: got %d entries, want %d", len(extra), got, want)
		}
	}
}

// In JSON, a byte of a name may need six.
func TestLedgerOfNamesThatGrow(t *testing.T) {
	for what, l := range map[string]ledger.Ledger{
		"entries":      {Entries: map[source.LocalKey]digest.Digest{{Kind: source.ConfigMap, Name: strings.Repeat("\x01", ledgerLimit/5)}: {}}},
		"many entries": {Entries: entriesOf(source.ConfigMap, ledgerLimit/60, "\x01\x01\x01")},
	} {
		if got := len(l.String()); got > ledgerLimit {
			t.Errorf("%s: the text has %d bytes, must have %d at most", what, got, ledgerLimit)
		}
		inText, err := ledger.Parse(l.String())
		if got := len(l.Bounded().Entries); err != nil || got != len(inText.Entries) {
			t.Errorf("%s: %d entries are left of a ledger whose text has %d, %v", what, got, len(inText.Entries), err)
		}
	}
}

func TestLedgerThatCannotBecomeSmaller(t *testing.T) {
	l := ledger.Ledger{UID: "u", Instance: strings.Repeat("k", 2*ledgerLimit), Entries: entriesOf(source.Secret, 1, "a")}
	if got, err := ledger.Parse(l.String()); err != nil || got.Instance != l.Instance || len(got.Aggregates) != 1 {
		t.Errorf("got %d aggregates, %v", len(got.Aggregates), err)
	}
}

func TestAggregate(t *testing.T) {
	key := func(kind source.Kind, name string) source.LocalKey {
		return source.LocalKey{Kind: kind, Name: name}
	}
	entries := map[source.LocalKey]digest.Digest{
		key(source.ConfigMap, "a"): {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
		key(source.ConfigMap, "b"): {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
	}
	want := ledger.Aggregate(source.ConfigMap, entries)
	if want.String() != "fefed63dadc2ff9587dbad5e1fefb0e2" {
		t.Errorf("the encoding changed: got %s", want)
	}
	changed := func(change func(map[source.LocalKey]digest.Digest)) digest.Digest {
		other := merged(entries)
		change(other)
		return ledger.Aggregate(source.ConfigMap, other)
	}
	for name, got := range map[string]digest.Digest{
		"a source that changed": changed(func(e map[source.LocalKey]digest.Digest) { e[key(source.ConfigMap, "a")] = digest.Digest{9} }),
		"a source that is gone": changed(func(e map[source.LocalKey]digest.Digest) { delete(e, key(source.ConfigMap, "b")) }),
		"a source that is new":  changed(func(e map[source.LocalKey]digest.Digest) { e[key(source.ConfigMap, "c")] = digest.Digest{} }),
		"a source that was renamed": changed(func(e map[source.LocalKey]digest.Digest) {
			e[key(source.ConfigMap, "c")] = e[key(source.ConfigMap, "b")]
			delete(e, key(source.ConfigMap, "b"))
		}),
	} {
		if got == want {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	if got := changed(func(e map[source.LocalKey]digest.Digest) { e[key(source.Secret, "a")] = digest.Digest{9} }); got != want {
		t.Errorf("a source of another kind: got %s, want %s", got, want)
	}
}

func TestParseLedgerRefuses(t *testing.T) {
	digest := strings.Repeat("0", 32)
	for name, tc := range map[string]struct {
		text, want string
		newer      bool
	}{
		"empty text":                          {text: ``, want: "must be a JSON object"},
		"no JSON":                             {text: `v1`, want: "must be a JSON object"},
		"text that breaks off":                {text: `{"v":1,"uid":"u"`, want: "must be a JSON object"},
		"text after the end":                  {text: `{"v":1} {}`, want: "must be a JSON object"},
		"a list":                              {text: `[1]`, want: "must be a JSON object"},
		"no version":                          {text: `{"uid":"u","n":1}`, want: "format 0, must be from 1 to 1"},
		"null":                                {text: `null`, want: "format 0, must be from 1 to 1"},
		"a negative version":                  {text: `{"v":-1}`, want: "format -1, must be from 1 to 1"},
		"a version in letters":                {text: `{"v":"1"}`, want: "must be a JSON object"},
		"a newer version":                     {text: `{"v":2}`, want: "format 2, known is 1", newer: true},
		"a newer version of another shape":    {text: `{"v":7,"cm":["a"],"n":-1}`, want: "format 7, known is 1", newer: true},
		"more templates than it can have":     {text: `{"v":1,"old":[` + strings.Repeat(`"00000000000000000000000000000000",`, 8) + `"00000000000000000000000000000000"]}`, want: "number of superseded templates 9, must be from 0 to 8"},
		"more certificates than it can have":  {text: `{"v":1,"cert":{` + manyCertificates(17) + `}}`, want: "number of certificates 17, must be from 0 to 16"},
		"a certificate that ends before 1970": {text: `{"v":1,"cert":{"web":{"from":0,"until":-1}}}`, want: "times are before 1970 or after 9999"},
		"a certificate that begins in 10000":  {text: `{"v":1,"cert":{"web":{"from":253402300800,"until":1}}}`, want: "times are before 1970 or after 9999"},
		"a certificate of a long name":        {text: `{"v":1,"cert":{"` + strings.Repeat("x", 254) + `":{}}}`, want: "whose name is too long"},
		"a counter below zero":                {text: `{"v":1,"n":-1}`, want: "counter -1, must be from 0 to 1099511627776"},
		"a counter beyond all numbers":        {text: `{"v":1,"n":9223372036854775808}`, want: "ledger of format 1"},
		"a digest that is too short":          {text: `{"v":1,"cm":{"a":"00"}}`, want: "must be 32 hexadecimal digits"},
		"a digest that is a number":           {text: `{"v":1,"secret":{"a":0}}`, want: "ledger of format 1"},
		"entries in a list":                   {text: `{"v":1,"spc":["a"]}`, want: "ledger of format 1"},
		"entries and one for all of them":     {text: `{"v":1,"cm":{"a":"` + digest + `"},"all":{"cm":{"sum":"` + digest + `","count":1}}}`, want: "kind ConfigMap and one for all of them"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ledger.Parse(tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
			if errors.Is(err, ledger.ErrNewerFormat) != tc.newer {
				t.Errorf("newer: got %v, want %v (%v)", !tc.newer, tc.newer, err)
			}
			if diff := cmp.Diff(ledger.Ledger{}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func manyCertificates(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"web-%d":{"from":1,"until":2}`, i))
	}
	return strings.Join(all, ",")
}

func TestParsedLedgerCanBeWrittenTo(t *testing.T) {
	ledger, err := ledger.Parse(`{"v":1}`)
	if err != nil {
		t.Fatal(err)
	}
	ledger.Entries[source.LocalKey{Kind: source.ConfigMap, Name: "a"}] = digest.Digest{1}
	ledger.Aggregates[source.Secret] = total(2)
	const want = `{"v":1,"uid":"","n":0,"cm":{"a":"01000000000000000000000000000000"},"all":{"secret":{"sum":"02000000000000000000000000000000","count":7}}}`
	if diff := cmp.Diff(want, ledger.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzParseLedger(f *testing.F) {
	digest := strings.Repeat("ab", 16)
	f.Add(`{"v":1,"uid":"u","key":"k","n":3,"cm":{"web":"` + digest + `"},"secret":{"a":"` + digest + `"},"all":{"spc":{"sum":"` + digest + `","count":3}}}`)
	f.Add(`{"v":1,"cm":{},"secret":null,"all":{}}`)
	f.Add(`{"v":1,"cm":{"a":null,"<":"` + digest + `"},"CM":{"b":"` + strings.ToUpper(digest) + `"}}`)
	f.Add("{\"v\":1,\"uid\":\"\xff\",\"cm\":{\"\xff\":\"" + digest + "\",\"\xfe\":\"" + digest + "\"}}")
	f.Add(ledger.Ledger{Entries: entriesOf(source.ConfigMap, 4500, "a")}.String())
	f.Add(`{"v":2}`)
	f.Add(`{"v":1,"cert":{"web":{"from":1,"until":2},"":{}}}`)
	f.Add(`{"v":1,"n":1e3}`)
	f.Add(`{"v":1,"cm":{"` + strings.Repeat("x", 2*ledgerLimit) + `":"` + digest + `"}}`)
	f.Add(``)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ledger.Parse(text)
		if err != nil {
			return
		}
		again, err := ledger.Parse(l.String())
		if err != nil {
			t.Fatalf("what was read from %s is refused: %v", text, err)
		}
		if diff := cmp.Diff(l.Bounded(), again); diff != "" {
			t.Errorf("(-read +again):\n%s", diff)
		}
		if again.String() != l.String() {
			t.Errorf("equal ledgers have texts %s and %s", l, again)
		}
	})
}

func BenchmarkLedgerString(b *testing.B) {
	for name, count := range map[string]int{"5 sources": 5, "4500 sources": 4500} {
		ledger := ledger.Ledger{UID: "u", Entries: entriesOf(source.ConfigMap, count, "config")}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = ledger.String()
			}
		})
	}
}
