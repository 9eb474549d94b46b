package source_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestDigestKeyNeedsRandomBytes(t *testing.T) {
	for _, size := range []int{0, 1, 31} {
		key, err := digest.NewKey(make([]byte, size))
		if err == nil || !strings.Contains(err.Error(), "must have at least 32") {
			t.Errorf("%d bytes: got error %v", size, err)
		}
		if key.ID() != "" {
			t.Errorf("%d bytes: got key %s", size, key)
		}
	}
}

func TestDigestKeyShowsOnlyItsID(t *testing.T) {
	random := []byte("0123456789abcdefghijklmnopqrstuv")
	key, err := digest.NewKey(random)
	if err != nil {
		t.Fatal(err)
	}
	want := "digest key " + key.ID()
	if len(key.ID()) != 8 || key.ID() == digestKey(t, 2).ID() {
		t.Errorf("got id %q", key.ID())
	}
	if got := digestKey(t, 1).ID(); got != "a2bfbba4" {
		t.Errorf("the id of a key became %q, so no ledger would be known any more", got)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%U", "%t", "%e", "%p", "%T"} {
		shown := fmt.Sprintf(verb, key)
		assertShowsNothing(t, shown, random)
		// These two do not ask the value what it wants to be shown as.
		if shown != want && verb != "%p" && verb != "%T" {
			t.Errorf("%s gives %q, want %q", verb, shown, want)
		}
		// Within a struct that does not export it, fmt does not see any method.
		type holder struct{ key digest.Key }
		assertShowsNothing(t, fmt.Sprintf(verb, holder{key}), random)
		assertShowsNothing(t, fmt.Sprintf(verb, &holder{key}), random)
	}

	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		slog.New(handler).Info("m", "key", key, "in", struct{ Key digest.Key }{key})
	}
	if got := strings.Count(log.String(), want); got < 2 {
		t.Errorf("the id is missing in %s", log.String())
	}
	assertShowsNothing(t, log.String(), random)

	marshalled, err := json.Marshal(map[string]any{"key": key})
	if err != nil {
		t.Fatal(err)
	}
	assertShowsNothing(t, string(marshalled), random)
	if got, want := fmt.Sprint(digest.Key{}), "digest key (none)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// assertShowsNothing also looks for bytes derived from the key, which are as
// good as the key itself: nothing else has that many words.
func assertShowsNothing(t *testing.T, shown string, random []byte) {
	t.Helper()
	for _, form := range []string{string(random), hex.EncodeToString(random), "48 49 50"} {
		if strings.Contains(shown, form) {
			t.Errorf("the key stands in %s", shown)
		}
	}
	if len(strings.FieldsFunc(shown, func(r rune) bool { return r == ' ' })) > 16 {
		t.Errorf("a list of bytes stands in %s", shown)
	}
}

func TestDigestKeyDoesNotFollowItsOrigin(t *testing.T) {
	random := bytes.Repeat([]byte{1}, 32)
	key, err := digest.NewKey(random)
	if err != nil {
		t.Fatal(err)
	}
	clear(random)
	of := func(key digest.Key) digest.Digest {
		return source.FromSecret(secret(map[string][]byte{"a": nil}), key, annotations.DefaultNames()).Digest
	}
	if diff := cmp.Diff(of(digestKey(t, 1)).String(), of(key).String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
