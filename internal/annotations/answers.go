package annotations

import "sync"

// answers remembers which entry of a list names a source. Users choose the patterns and the names, and
// each change in a namespace looks at all of them again. The zero value is empty, and safe for
// concurrent use.
type answers struct {
	mu sync.Mutex
	// of is, by name, the index of an entry, or nowhere. A name shares its text with the source.
	of map[string]int16
}

const (
	// fewExpressions are matched each time: that takes about as long as the rest of a verdict.
	fewExpressions = 4
	// answersEach bounds the names of one list by the number of its expressions, and mostAnswers bounds
	// them in any case. They take about as much memory as the compiled expressions.
	answersEach, mostAnswers = 64, 4096
)

// nowhere is the answer if no entry names a source.
const nowhere = -1

// find returns the answer for a name, and remembers as many as it may. Only the first question about a
// name takes the time of matching.
func (a *answers) find(name string, most int, match func(name string) int) int {
	if at, known := a.get(name); known {
		return at
	}
	at := match(name)
	a.put(name, at, most)
	return at
}

func (a *answers) get(name string) (at int, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, known := a.of[name]
	return int(answer), known
}

func (a *answers) put(name string, at, most int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]int16{}
	}
	if len(a.of) >= most {
		for forgotten := range a.of {
			delete(a.of, forgotten)
			break
		}
	}
	a.of[name] = int16(at) //nolint:gosec // a list has at most maxEntries
}
