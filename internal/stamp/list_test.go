package stamp

import (
	"bytes"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// A list that is read as a whole gives the same, and takes more memory, so what comes out does not tell.
func TestTheItemsOfAListAreReadByThemselves(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/lists.txtar")
	if err != nil {
		t.Fatal(err)
	}
	s := New(optionsOf(t, archive.Comment))
	s.long = 0
	if err := s.Read("lists.yaml", bytes.NewReader(archive.Files[0].Data)); err != nil {
		t.Fatal(err)
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
	// As a whole: the one with an anchor that the next item uses, of which five parts are left, and what is no list.
	if items[" "] != 7 || items["apps/v1 Deployment"] != 2 || items["whole"] != 6 {
		t.Errorf("%v", items)
	}
}
