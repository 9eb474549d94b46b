package annotations

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// manyPatterns is a list of expressions and of names with dots. Several of them match the same names.
func manyPatterns(t *testing.T) *NameList {
	t.Helper()
	names := DefaultNames()
	list, refused := ReadList("b1,.*-1,a-2,a-.*,c.1,.*-[3-5]x,b1.*,c-1,d.2,e-.*", &names, false)
	if len(refused) > 0 || list.expressions <= fewExpressions {
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
	if len(list.answers.of) != list.expressions*answersEach {
		t.Errorf("%d answers are remembered", len(list.answers.of))
	}
}

// askedOften is a list of n such entries, which was asked for more names than it may remember.
func askedOften(t *testing.T, entry string, n int) *NameList {
	t.Helper()
	names := DefaultNames()
	var text []string
	for i := range n {
		text = append(text, fmt.Sprintf(entry, i))
	}
	list, refused := ReadList(strings.Join(text, ","), &names, false)
	if len(refused) > 0 {
		t.Fatalf("refused are %v", refused)
	}
	for i := range 2 * mostAnswers {
		list.Find(fmt.Sprintf("a-%d", i))
	}
	return list
}

func TestAnswersAreBounded(t *testing.T) {
	for expressions, most := range map[int]int{5: 5 * answersEach, 200: mostAnswers} {
		list := askedOften(t, "a-%d.*", expressions)
		if len(list.answers.of) != most {
			t.Errorf("%d expressions: %d answers are remembered", expressions, len(list.answers.of))
		}
	}
}

// Each takes a moment to compare, and thousands of them do not.
func TestManyNamesWithDotsRememberAnswers(t *testing.T) {
	list := askedOften(t, "a.%d", maxEntries)
	if list.expressions != 0 || len(list.answers.of) != mostAnswers {
		t.Errorf("%d expressions: %d answers are remembered", list.expressions, len(list.answers.of))
	}
}

func TestFewExpressionsRememberNothing(t *testing.T) {
	names := DefaultNames()
	for _, text := range []string{"shop.config,a-.*", "a.1,b.1,c.1,d.1,e.1,f.1"} {
		list, _ := ReadList(text, &names, true)
		if _, found := list.Find("a-1"); !found || list.answers.of != nil {
			t.Errorf("%s is not matched each time", text)
		}
	}
	if foreign := manyPatterns(t); foreign.match("infra/a-1") != nowhere {
		t.Error("an expression matches a source of another namespace")
	} else if foreign.Find("infra/a-1"); foreign.answers.of != nil {
		t.Error("the answer for a source of another namespace is remembered")
	}
}
