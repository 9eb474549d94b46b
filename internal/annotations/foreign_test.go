package annotations

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhichEntriesNameASourceOfAnotherNamespace(t *testing.T) {
	names := DefaultNames()
	long := strings.Repeat("x", 64)
	for entry, want := range map[string]bool{
		"infra/ca-bundle":                   true,
		"infra/ca.crt":                      true, // a dot is no expression here
		"9/a":                               true,
		"a/b/c":                             false,
		"/x":                                false,
		"x/":                                false,
		"/":                                 false,
		"//":                                false,
		"../x":                              false,
		"./x":                               false,
		"infra/..":                          false,
		"in.fra/x":                          false, // no namespace has a dot
		"infra/ca-.*":                       false,
		"*/ca":                              false,
		"infra/*":                           false,
		"Infra/ca":                          false,
		"infra /ca":                         false,
		long + "/x":                         false,
		"infra/" + long + long[1:]:          true,
		"infra/" + strings.Repeat("x", 254): false,
		"infra/x|local":                     false,
		"infra/\x00":                        false,
		"infra/ca\nb":                       false,
	} {
		list, refused := ReadList(entry, &names, true)
		named := list != nil && len(list.Foreign) == 1 && list.HasName(entry)
		if named != want || named == (len(refused) > 0) {
			t.Errorf("%q names a source of another namespace: %t, refused %v", entry, named, refused)
		}
		if list, refused := ReadList(entry, &names, false); list != nil || len(refused) != 1 {
			t.Errorf("%q for a kind without other namespaces: %v, refused %v", entry, list, refused)
		}
	}
}

func TestNoExpressionReachesIntoAnotherNamespace(t *testing.T) {
	names := DefaultNames()
	for _, entry := range []string{".*", "infra.ca", "infra.ca-bundle", "[^a]*", "(?s).*", `infra\x2fca`, `infra\x2fca-bundle`} {
		list, _ := ReadList(entry, &names, true)
		for _, name := range []string{"infra/ca", "infra/ca-bundle"} {
			if found, is := list.Find(name); is {
				t.Errorf("%q matches %s by %q", entry, name, found)
			}
		}
	}
}

func TestSourcesOfOtherNamespacesAreBounded(t *testing.T) {
	names := DefaultNames()
	var entries []string
	for i := range 1000 {
		entries = append(entries, fmt.Sprintf("infra/ca-%d", i))
	}
	list, refused := ReadList(strings.Join(append(entries, "local"), ","), &names, true)
	if len(list.Foreign) != maxForeign || !list.HasName("local") || list.HasName("infra/ca-16") {
		t.Errorf("%d of other namespaces, local %t", len(list.Foreign), list.HasName("local"))
	}
	if len(refused) != maxListMistakes+1 || !strings.Contains(refused[0].Why, "more than 16 sources of other namespaces") {
		t.Errorf("refused %v", refused)
	}
}

func TestWhichNamespacesASourceAllows(t *testing.T) {
	many := strings.Repeat("a,", 10) + "shop"
	var distinct []string
	for i := range 500 {
		distinct = append(distinct, fmt.Sprintf("team-%d", i))
	}
	for name, tc := range map[string]struct {
		text     string
		allows   []string
		forbids  []string
		mistakes int
	}{
		"a name":                    {"shop", []string{"shop"}, []string{"shop-2", "sho", "", "a-shop"}, 0},
		"several, with a star":      {"shop, team-*", []string{"shop", "team-", "team-a"}, []string{"team", "steam-a"}, 0},
		"stars":                     {"a*b*c", []string{"abc", "a-b-c", "abbcc"}, []string{"ab", "abcd"}, 0},
		"all":                       {"*", []string{"shop", "kube-system"}, nil, 0},
		"duplicates":                {many, []string{"shop", "a"}, nil, 0},
		"empty":                     {"", nil, []string{"shop", ""}, 1},
		"blanks and commas":         {" , ,", nil, []string{"shop", ""}, 1},
		"an expression":             {"team-.*", nil, []string{"team-a", "team-.a"}, 1},
		"an expression beside one":  {"(shop|x), shop", []string{"shop"}, []string{"x"}, 1},
		"capital letters":           {"Shop", nil, []string{"shop", "Shop"}, 1},
		"a slash":                   {"shop/web", nil, []string{"shop"}, 1},
		"too many":                  {strings.Join(distinct, ","), []string{"team-0", "team-99"}, []string{"team-100"}, 1},
		"too long":                  {strings.Repeat("shop,", 2000), nil, []string{"shop"}, 1},
		"many mistakes":             {strings.Repeat("A,B,C,", 20), nil, []string{"a"}, maxListMistakes},
		"stars that could be slow":  {strings.Repeat("*a", 31), nil, []string{strings.Repeat("a", 30) + strings.Repeat("b", 33)}, 0},
		"longer than any namespace": {strings.Repeat("a", 64), nil, []string{strings.Repeat("a", 64)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, mistakes := ReadAllowFrom(map[string]string{AllowFromKey: tc.text})
			for _, ns := range tc.allows {
				if !got.Has(ns) {
					t.Errorf("%q is not allowed", ns)
				}
			}
			for _, ns := range tc.forbids {
				if got.Has(ns) {
					t.Errorf("%q is allowed", ns)
				}
			}
			if len(mistakes) != tc.mistakes || got.Any() != (len(tc.allows) > 0 || name == "stars that could be slow") {
				t.Errorf("any %t, mistakes %v", got.Any(), mistakes)
			}
		})
	}
}

func TestEqualConsentIsEqual(t *testing.T) {
	one, _ := ReadAllowFrom(map[string]string{AllowFromKey: "b, a,a"})
	two, _ := ReadAllowFrom(map[string]string{AllowFromKey: "a,b"})
	none, mistakes := ReadAllowFrom(nil)
	if one != two || none.Any() || len(mistakes) > 0 {
		t.Errorf("%v and %v, without the annotation %v, %v", one, two, none, mistakes)
	}
}

func FuzzReadAllowFrom(f *testing.F) {
	f.Add("shop, team-*", "team-a")
	f.Add("*,,*", "")
	f.Add("a*b*", "ab")
	f.Fuzz(func(t *testing.T, text, ns string) {
		got, mistakes := ReadAllowFrom(map[string]string{AllowFromKey: text})
		if len(mistakes) > maxListMistakes {
			t.Errorf("%d mistakes", len(mistakes))
		}
		if got.Has(ns) && !got.Any() {
			t.Error("none is allowed, and this one is")
		}
	})
}
