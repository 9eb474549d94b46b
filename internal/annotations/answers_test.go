package annotations

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// manyPatterns has expressions and names with dots, of which several match the same names.
func manyPatterns(t *testing.T) *NameList {
	t.Helper()
	names := DefaultNames()
	list, refused := ReadList("b1,.*-1,a-2,a-.*,c.1,.*-[3-5]x,b1.*,c-1,d.2", &names, false)
	if len(refused) > 0 || len(list.Patterns) <= fewPatterns {
		t.Fatalf("%d patterns, refused are %v", len(list.Patterns), refused)
	}
	return list
}

func TestARememberedAnswerIsThatOfMatching(t *testing.T) {
	list := manyPatterns(t)
	var all sync.WaitGroup
	for range 4 { // several workers ask at once
		all.Go(func() {
			for range 2 {
				for i := range 1000 {
					name := fmt.Sprintf("%c-%d", 'a'+i%5, i/5)
					if i%3 == 0 {
						name = strings.Replace(name, "-", "", 1)
					}
					want, matches := "", false
					if at := list.match(name); at != nowhere {
						want, matches = list.Entries[at].Text, true
					}
					if got, found := list.Find(name); got != want || found != matches {
						t.Errorf("%s: %q %t, must be %q %t", name, got, found, want, matches)
					}
				}
			}
		})
	}
	all.Wait()
	if len(list.answers.of) != 1000 {
		t.Errorf("%d answers are remembered", len(list.answers.of))
	}
}

func TestAnswersAreBounded(t *testing.T) {
	list := manyPatterns(t)
	for i := range 2 * mostAnswers {
		list.Find(fmt.Sprintf("a-%d", i))
	}
	if len(list.answers.of) != mostAnswers {
		t.Errorf("%d answers are remembered", len(list.answers.of))
	}
}

func TestFewPatternsRememberNothing(t *testing.T) {
	names := DefaultNames()
	list, _ := ReadList("shop.config,a-.*", &names, true)
	if _, found := list.Find("a-1"); !found || list.answers.of != nil {
		t.Error("one expression is not matched each time")
	}
	if foreign := manyPatterns(t); foreign.match("infra/a-1") != nowhere {
		t.Error("an expression matches a source of another namespace")
	} else if foreign.Find("infra/a-1"); foreign.answers.of != nil {
		t.Error("the answer for a source of another namespace is remembered")
	}
}
