package annotations

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListsOfKeys(t *testing.T) {
	cm := func(name string, only, without []string) KeyEntry { return KeyEntry{"configmap", name, only, without} }
	for text, tc := range map[string]struct {
		word    string
		entries []KeyEntry
		err     string
	}{
		"":                                      {},
		" ,\n":                                  {},
		"used":                                  {word: "used"},
		"all ":                                  {word: "all"},
		"configmap/app=logging.yaml,!banner":    {entries: []KeyEntry{cm("app", []string{"logging.yaml"}, []string{"banner"})}},
		"used, configmap/app=a,b secret/db=!c,": {word: "used", entries: []KeyEntry{cm("app", []string{"a", "b"}, nil), {"secret", "db", nil, []string{"c"}}}},
		"ConfigMap/app=used,all":                {entries: []KeyEntry{cm("app", []string{"used", "all"}, nil)}},
		"configmap/app=..data,_x,A-1":           {entries: []KeyEntry{cm("app", []string{"..data", "_x", "A-1"}, nil)}},
		"configmap/app=a,configmap/app=!b":      {entries: []KeyEntry{cm("app", []string{"a"}, nil), cm("app", nil, []string{"b"})}},
		"Used":                                  {err: `"Used" belongs to no source`},
		"used,all":                              {err: `"all" belongs to no source`},
		"configmap/app=a,used,all":              {entries: []KeyEntry{cm("app", []string{"a", "used", "all"}, nil)}},
		"app=a":                                 {err: `"app" is neither configmap/NAME nor secret/NAME`},
		"configmap/=a":                          {err: `"configmap/" is neither configmap/NAME nor secret/NAME`},
		"configmap/App=a":                       {err: `"configmap/App" is neither`},
		"secretproviderclass/app=a":             {err: "is neither configmap/NAME nor secret/NAME"},
		"configmap/infra/ca=a":                  {err: `"configmap/infra/ca" is in another namespace, and all keys of such a source count; remove it`},
		"used, Secret/infra/db=!a":              {err: "is in another namespace"},
		"vault/infra/ca=a":                      {err: "is neither configmap/NAME nor secret/NAME"},
		"configmap/in.fra/ca=a":                 {err: "is neither configmap/NAME nor secret/NAME"},
		"clustertrustbundle/app=a":              {err: "is neither configmap/NAME nor secret/NAME"},
		"configmap/app=":                        {err: `"" is not a key of configmap/app`},
		"configmap/app=!":                       {err: `"!" is not a key of configmap/app`},
		"configmap/app=!!a":                     {err: `"!!a" is not a key`},
		"configmap/app=a/b":                     {err: `"a/b" is not a key`},
		"configmap/app=a=b":                     {err: `"a=b" is not a key`},
		"configmap/app=schlüssel":               {err: "is not a key"},
		"configmap/app=" + strings.Repeat("k", 254):                     {err: "is not a key"},
		"configmap/app=a" + strings.Repeat(",k", maxListedKeys-1) + ",": {entries: []KeyEntry{cm("app", append([]string{"a"}, slices.Repeat([]string{"k"}, maxListedKeys-1)...), nil)}},
		"configmap/app=a" + strings.Repeat(",k", maxListedKeys):         {err: "it has more than 1000 entries"},
	} {
		word, entries, err := ReadKeys(text)
		switch {
		case tc.err != "":
			if err == nil || !strings.Contains(err.Error(), tc.err) || len(entries) > 0 || word != "" {
				t.Errorf("%.40q: %v, and %q %v, want error %q alone", text, err, word, entries, tc.err)
			}
		case err != nil:
			t.Errorf("%.40q: %v", text, err)
		case word != tc.word || cmp.Diff(tc.entries, entries) != "":
			t.Errorf("%.40q: %q and %s", text, word, cmp.Diff(tc.entries, entries))
		}
	}
}

// FuzzReadKeys checks that no text makes it fail, that an error leaves nothing behind, and that what
// was read is written and read again in the same way.
func FuzzReadKeys(f *testing.F) {
	for _, text := range []string{"used", "all,configmap/app=a,!b", "secret/db=!c\tconfigmap/x=y", "configmap/app==", "!a", "configmap/a=b,configmap/a=c", "=,=", "used,used"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		word, entries, err := ReadKeys(text)
		if err != nil {
			if word != "" || entries != nil || len(err.Error()) > 1000 {
				t.Errorf("%q: %q, %v and an error of %d bytes", text, word, entries, len(err.Error()))
			}
			return
		}
		tokens := []string{}
		if word != "" {
			tokens = append(tokens, word)
		}
		for _, e := range entries {
			if e.Kind != "configmap" && e.Kind != "secret" || !IsObjectName(e.Name) || len(e.Only)+len(e.Without) == 0 {
				t.Fatalf("%q: entry %v", text, e)
			}
			begin := e.Kind + "/" + e.Name + "="
			for _, key := range e.Only {
				tokens, begin = append(tokens, begin+key), ""
			}
			for _, key := range e.Without {
				tokens, begin = append(tokens, begin+"!"+key), ""
			}
		}
		again, same, err := ReadKeys(strings.Join(tokens, ","))
		if err != nil || again != word || cmp.Diff(entries, same) != "" {
			t.Errorf("%q: read again as %q %v (%v), was %q %v", text, again, same, err, word, entries)
		}
	})
}
