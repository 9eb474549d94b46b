package docs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// entry is a line of a list: a block that is not tried here, and why. The first line * stands for all
// blocks of a page.
type entry struct{ page, first, why string }

func (e entry) of(b *block) bool {
	return e.page == b.page && (e.first == b.first() || e.first == wholePage)
}

const wholePage = "*"

// list reads a file of testdata with three columns.
func list(name string) ([]entry, error) {
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		return nil, err
	}
	var entries []entry
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, " || ")
		if len(columns) != 3 {
			return nil, fmt.Errorf("%s: %q has to be: PAGE || FIRST LINE || REASON", name, line)
		}
		entries = append(entries, entry{columns[0], columns[1], columns[2]})
	}
	return entries, nil
}

// lists are the blocks that are not tried here.
type lists struct{ exempt, elsewhere []entry }

// mostExempt is how many blocks may be tried nowhere.
const mostExempt = 10

func readLists() (lists, error) {
	exempt, err := list("exempt.txt")
	if err != nil {
		return lists{}, err
	}
	elsewhere, err := list("elsewhere.txt")
	return lists{exempt, elsewhere}, err
}

// wrong says what does not hold of the lists, given all blocks.
func (l lists) wrong(blocks []*block) error {
	var errs []error
	exempt := 0
	for i, e := range slices.Concat(l.exempt, l.elsewhere) {
		texts := map[string]bool{}
		for _, b := range blocks {
			if !e.of(b) {
				continue
			}
			texts[b.text] = true
			if i < len(l.exempt) {
				exempt++
			}
		}
		switch {
		case len(texts) == 0:
			errs = append(errs, fmt.Errorf("%s has no block that begins with %q: take it off the list", e.page, e.first))
		case len(texts) > 1 && e.first != wholePage:
			errs = append(errs, fmt.Errorf("%s has %d different blocks that begin with %q: let the one of the list begin with another line", e.page, len(texts), e.first))
		}
	}
	if exempt > mostExempt {
		errs = append(errs, fmt.Errorf("%d blocks are exempt, and at most %d may be", exempt, mostExempt))
	}
	for _, e := range l.elsewhere {
		errs = append(errs, testExists(e))
	}
	return errors.Join(errs...)
}

// testExists is nil if the test that an entry names is there, and its package names the page.
func testExists(e entry) error {
	folder, test, _ := strings.Cut(e.why, " ")
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		return err
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		all.Write(text)
	}
	if !strings.Contains(all.String(), "func "+test+"(t *testing.T)") || !strings.Contains(all.String(), e.page) {
		return fmt.Errorf("%s is said to be tried by %s of %s, and there is no such test, or nothing there names that page", e.page, test, folder)
	}
	return nil
}

func (l lists) here(b *block) bool {
	for _, e := range slices.Concat(l.exempt, l.elsewhere) {
		if e.of(b) {
			return false
		}
	}
	return true
}
