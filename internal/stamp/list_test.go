package stamp

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// A list that is read as a whole gives the same, and takes more memory, so what comes out does not tell.
func TestTheItemsOfAListAreReadByThemselves(t *testing.T) {
	for name, want := range map[string]map[string]int{
		// As a whole: the one with an anchor that the next item uses, of which four parts are left, and what is no list.
		"lists": {" ": 7, "apps/v1 Deployment": 2, "whole": 5},
		// As a whole: those with a comment, with a quote in a text, and the one that is no list.
		"braces": {" ": 9, "apps/v1 Deployment": 2, "whole": 3},
	} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		s := New(optionsOf(t, archive.Comment))
		s.long = 0
		for _, f := range archive.Files {
			if strings.HasPrefix(f.Name, "want/") {
				continue
			}
			if err := s.Read(f.Name, bytes.NewReader(f.Data)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Stamp(); err != nil {
			t.Fatal(err)
		}
		items := map[string]int{}
		for _, d := range s.documents {
			switch {
			case d.list == nil:
				items["whole"]++
			case !d.shell:
				items[d.list.apiVersion+" "+d.list.kind]++
			}
		}
		if diff := cmp.Diff(want, items); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// What a Secret is made of counts in whatever order it is written, and each of it.
func TestAllThatASecretIsMadeOfCounts(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/merged-secrets.txtar")
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(strings.TrimSuffix(string(archive.Files[0].Data), "\n"), "\n---\n")
	valueOf := func(documents []string) string {
		out := stampText(t, optionsOf(t, []byte("all\nkey")), strings.Join(documents, "\n---\n")+"\n")
		_, rest, _ := strings.Cut(out, "checksum/config: ")
		value, _, _ := strings.Cut(rest, "\n")
		return value
	}
	whole := valueOf(documents)
	turned := slices.Clone(documents)
	slices.Reverse(turned)
	if value := valueOf(turned); value != whole {
		t.Errorf("%s, and in the other order %s", whole, value)
	}
	if value := valueOf(slices.Delete(slices.Clone(documents), 2, 3)); value != whole {
		t.Errorf("%s, and with the same object once %s", whole, value)
	}
	for _, left := range []int{0, 3, 4} {
		if value := valueOf(slices.Delete(slices.Clone(documents), left, left+1)); value == whole {
			t.Errorf("the same without document %d", left)
		}
	}
}
