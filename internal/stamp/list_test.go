package stamp

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// If a list is read as a whole, the result is the same and only the memory differs. Therefore the
// test counts the parts.
func TestTheItemsOfAListAreReadByThemselves(t *testing.T) {
	for name, want := range map[string]map[string]int{
		// Read as a whole: the list with an anchor that the next item uses, of which four parts
		// remain, and the document that is not a list.
		"lists": {" ": 7, "apps/v1 Deployment": 2, "whole": 5},
		// Read as a whole: the lists with a comment or with a quote in a text, and the document
		// that is not a list.
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

// All parts of a Secret count, in any order.
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
