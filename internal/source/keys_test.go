package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
)

func withKeys(pairs ...string) *Source {
	data := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		data[pairs[i]] = pairs[i+1]
	}
	src := FromConfigMap(&corev1.ConfigMap{Data: data}, annotations.DefaultNames())
	return &src
}

func TestKeysThatCount(t *testing.T) {
	for about, tc := range map[string]struct {
		keys *Keys
		has  string
		text string
	}{
		"all":                     {nil, "abc", "all keys"},
		"none":                    {OnlyKeys(nil), "", "no key"},
		"some":                    {OnlyKeys([]string{"b", "a", "b"}), "ab", "a, b"},
		"nothing is listed":       {ListedKeys(nil, nil), "abc", "all keys"},
		"listed":                  {ListedKeys([]string{"c"}, nil), "c", "c"},
		"excluded":                {ListedKeys(nil, []string{"b"}), "ac", "all keys except b"},
		"listed and excluded":     {ListedKeys([]string{"a", "b"}, []string{"b"}), "a", "a"},
		"each listed is excluded": {ListedKeys([]string{"b"}, []string{"b"}), "", "no key"},
	} {
		var has strings.Builder
		for _, key := range []string{"a", "b", "c"} {
			if tc.keys.Has(key) {
				has.WriteString(key)
			}
		}
		if has.String() != tc.has || tc.keys.String() != tc.text {
			t.Errorf("%s: has %s, and is %q", about, &has, tc.keys)
		}
		if tc.keys.HasAny([]string{"b", "x"}) != (strings.Contains(tc.has, "b") || tc.keys.Has("x")) {
			t.Errorf("%s: any of b and x: %t", about, tc.keys.HasAny([]string{"b", "x"}))
		}
	}
}

func TestADigestOfSomeKeysCoversThemAlone(t *testing.T) {
	base := withKeys("a", "1", "b", "1")
	a, notB, whole := OnlyKeys([]string{"a"}), ListedKeys(nil, []string{"b"}), (*Keys)(nil)
	for about, tc := range map[string]struct {
		other *Source
		keys  *Keys
		same  bool
	}{
		"another key changes":      {withKeys("a", "1", "b", "2"), a, true},
		"another key goes":         {withKeys("a", "1"), a, true},
		"another key comes":        {withKeys("a", "1", "b", "1", "c", "1"), a, true},
		"its key changes":          {withKeys("a", "2", "b", "1"), a, false},
		"its key goes":             {withKeys("b", "1"), a, false},
		"an excluded key changes":  {withKeys("a", "1", "b", "2"), notB, true},
		"a key that is not left":   {withKeys("a", "1", "b", "1", "c", "1"), notB, false},
		"all keys count":           {withKeys("a", "1", "b", "2"), whole, false},
		"a value moves to a key":   {withKeys("a", "", "b", "11"), a, false},
		"the key is there, empty":  {withKeys("a", "", "b", "1"), a, false},
		"nothing counts, it goes":  {withKeys("z", "9"), OnlyKeys(nil), true},
		"the same keys, otherwise": {base, OnlyKeys([]string{"a", "a"}), true},
	} {
		if same := base.DigestOf(tc.keys) == tc.other.DigestOf(tc.keys); same != tc.same {
			t.Errorf("%s: the same digest: %t", about, same)
		}
	}
	// A key that is added later counts by one of these and not by the other.
	sums := map[string]string{}
	for _, keys := range []*Keys{whole, OnlyKeys([]string{"a", "b"}), ListedKeys(nil, []string{"c"}), ListedKeys([]string{"a", "b"}, []string{"c"}), OnlyKeys([]string{"a"}), OnlyKeys([]string{"a", "c"}), OnlyKeys(nil)} {
		sum := fmt.Sprint(base.DigestOf(keys))
		if before, twice := sums[sum]; twice {
			t.Errorf("%v and %s have the same digest", keys, before)
		}
		sums[sum] = keys.String()
	}
}

func TestChangedKeys(t *testing.T) {
	before := withKeys("a", "1", "b", "1", "d", "1")
	for about, tc := range map[string]struct {
		now  *Source
		want string
	}{
		"nothing":             {withKeys("a", "1", "b", "1", "d", "1"), ""},
		"a value":             {withKeys("a", "2", "b", "1", "d", "1"), "a"},
		"one comes, one goes": {withKeys("a", "1", "c", "1", "d", "1"), "b c"},
		"all go":              {withKeys(), "a b d"},
		"the last":            {withKeys("a", "1", "b", "1", "e", "1"), "d e"},
	} {
		if got := strings.Join(tc.now.ChangedKeys(before), " "); got != tc.want {
			t.Errorf("%s: %s", about, got)
		}
		back := before.ChangedKeys(tc.now)
		if strings.Join(back, " ") != tc.want || !slices.IsSorted(back) {
			t.Errorf("%s, back: %s", about, back)
		}
	}
}

func TestAMissingKeyMayHaveBeenRemoved(t *testing.T) {
	src := withKeys("a", "1")
	for about, tc := range map[string]struct {
		keys *Keys
		want bool
	}{
		"all keys, whose time shows that": {nil, false},
		"a key that exists":               {OnlyKeys([]string{"a"}), false},
		"a key that does not":             {OnlyKeys([]string{"a", "b"}), true},
		"unknown keys":                    {ListedKeys(nil, []string{"b"}), true},
		"a missing key that is excluded":  {ListedKeys([]string{"a", "b"}, []string{"b"}), false},
	} {
		if got := src.MayLack(tc.keys); got != tc.want {
			t.Errorf("%s: %t", about, got)
		}
	}
}
