package annotations

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"strings"
)

// automaton is an expression as a table with a row for each state and a column for each character
// of a name. Matching a name takes one step for each of its characters, regardless of the
// expression. Package regexp takes longer with longer expressions, and each source of a namespace
// is matched.
type automaton struct {
	// next contains the next states. State 0 never matches, and names begin in state 1.
	next []uint16
	// accepts are the states in which a name may end.
	accepts []bool
}

// nameCharacters are all characters of object names.
const nameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-."

// column returns which of the nameCharacters c is, or -1.
func column(c byte) int {
	switch {
	case 'a' <= c && c <= 'z':
		return int(c - 'a')
	case '0' <= c && c <= '9':
		return 26 + int(c-'0')
	case c == '-':
		return 36
	case c == '.':
		return 37
	default:
		return -1
	}
}

// Matches reports whether the expression matches the whole name. Object names have no other
// characters.
func (a *automaton) Matches(name string) bool {
	state := 1
	for i := range len(name) {
		at := column(name[i])
		if at < 0 {
			return false
		}
		if state = int(a.next[state*len(nameCharacters)+at]); state == 0 {
			return false
		}
	}
	return a.accepts[state]
}

// newAutomaton returns false if it needs more steps than are left. The steps bound its time and its
// memory.
func newAutomaton(tree *syntax.Regexp, left *int) (*automaton, bool) {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, false
	}
	b := &automatonBuilder{prog: prog, left: *left, numbers: map[string]uint16{}, marks: make([]int, len(prog.Inst))}
	for _, inst := range prog.Inst {
		boundaries := syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary
		b.byWord = b.byWord || inst.Op == syntax.InstEmptyWidth && inst.Arg&uint32(boundaries) != 0
	}
	b.number(nil, 'a') // the state that never matches
	b.number([]int{prog.Start}, -1)
	for state := 1; state < len(b.states) && b.left > 0; state++ {
		b.build(state)
	}
	if b.left <= 0 {
		return nil, false
	}
	*left = b.left
	return &automaton{next: slices.Clip(b.next), accepts: slices.Clip(b.accepts)}, true
}

// automatonState is a position in the expression after some characters.
type automatonState struct {
	at []int
	// before represents the last character, -1 at the beginning.
	before rune
}

type automatonBuilder struct {
	automaton
	prog *syntax.Prog
	// byWord is set if word boundaries matter.
	byWord  bool
	left    int
	states  []automatonState
	numbers map[string]uint16
	// marks contains, by instruction, the closure that last reached it.
	marks    []int
	closures int

	// after contains, by character, the next instructions of the state that is being built.
	after [len(nameCharacters)][]int
	// These buffers are reused.
	todo, reached, sorted []int
	key                   []byte
}

// number returns the number of a state, and adds a row for a new one.
func (b *automatonBuilder) number(at []int, before rune) uint16 {
	b.left -= len(at)
	b.sorted = append(b.sorted[:0], at...)
	slices.Sort(b.sorted)
	b.sorted = slices.Compact(b.sorted)
	b.key = binary.AppendVarint(b.key[:0], int64(before))
	for _, pc := range b.sorted {
		b.key = binary.AppendVarint(b.key, int64(pc))
	}
	if known, ok := b.numbers[string(b.key)]; ok {
		return known
	}
	number := uint16(min(len(b.states), 1<<16-1)) // so many states need more steps than there are
	b.numbers[string(b.key)] = number
	b.states = append(b.states, automatonState{slices.Clone(b.sorted), before})
	b.next = append(b.next, make([]uint16, len(nameCharacters))...)
	b.accepts = append(b.accepts, false)
	b.left -= len(nameCharacters)
	return number
}

// build fills the row of a state.
func (b *automatonBuilder) build(state int) {
	from := b.states[state]
	for i := range b.after {
		b.after[i] = b.after[i][:0]
	}
	for _, group := range b.groups() {
		flags := syntax.EmptyOpContext(from.before, rune(nameCharacters[group[0]]))
		for _, pc := range b.closure(from.at, flags) {
			b.step(&b.prog.Inst[pc], group)
		}
	}
	row := state * len(nameCharacters)
	for i, at := range b.after {
		like := b.like(nameCharacters[i])
		switch {
		case len(at) == 0 || b.left <= 0:
		case i > 0 && like == b.like(nameCharacters[i-1]) && slices.Equal(at, b.after[i-1]):
			b.next[row+i] = b.next[row+i-1] // like most characters
		default:
			number := b.number(at, like) // which may reallocate the rows
			b.next[row+i] = number
		}
	}
	for _, pc := range b.closure(from.at, syntax.EmptyOpContext(from.before, -1)) {
		b.accepts[state] = b.accepts[state] || b.prog.Inst[pc].Op == syntax.InstMatch
	}
}

// wordCharacters is how many of the nameCharacters can be part of a word.
const wordCharacters = 36

// groups are the first and last columns of characters before which the same empty strings match.
func (b *automatonBuilder) groups() [][2]int {
	last := len(nameCharacters) - 1
	if b.byWord {
		return [][2]int{{0, wordCharacters - 1}, {wordCharacters, last}}
	}
	return [][2]int{{0, last}}
}

// like returns one representative for all characters after which the same empty strings match.
func (b *automatonBuilder) like(c byte) rune {
	if b.byWord && syntax.IsWordChar(rune(c)) {
		return 'a'
	}
	return '-'
}

// step adds the targets of an instruction for the characters of a group.
func (b *automatonBuilder) step(inst *syntax.Inst, group [2]int) {
	first, last := group[0], group[1]
	switch inst.Op {
	case syntax.InstRune1:
		at := -1
		if r := inst.Rune[0]; r <= 'z' {
			at = strings.IndexRune(nameCharacters, r)
		}
		if first <= at && at <= last {
			b.after[at] = append(b.after[at], int(inst.Out))
		}
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		b.left -= 8 // cheap: nothing is compared
		for i := first; i <= last; i++ {
			b.after[i] = append(b.after[i], int(inst.Out))
		}
	case syntax.InstRune:
		for i := first; i <= last; i++ {
			b.left--
			if inst.MatchRune(rune(nameCharacters[i])) {
				b.after[i] = append(b.after[i], int(inst.Out))
			}
		}
	}
}

// closure returns the instructions that are reachable without a character. The next call overwrites
// the result.
func (b *automatonBuilder) closure(from []int, flags syntax.EmptyOp) []int {
	b.closures++
	b.todo, b.reached = append(b.todo[:0], from...), b.reached[:0]
	for len(b.todo) > 0 {
		pc := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		if b.marks[pc] == b.closures {
			continue
		}
		b.marks[pc] = b.closures
		b.left--
		switch inst := &b.prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			b.todo = append(b.todo, int(inst.Out), int(inst.Arg))
		case syntax.InstCapture, syntax.InstNop:
			b.todo = append(b.todo, int(inst.Out))
		case syntax.InstEmptyWidth:
			if inst.Arg&^uint32(flags) == 0 {
				b.todo = append(b.todo, int(inst.Out))
			}
		default:
			b.reached = append(b.reached, pc)
		}
	}
	return b.reached
}
