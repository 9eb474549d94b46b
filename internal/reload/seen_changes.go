package reload

import "slices"

// Changes are the latest changes of what labels or annotations of a source say, which a watch has
// shown; nil without any. They are never changed.
type Changes[T any] struct{ steps []change[T] }

// change is a version that says something else than before.
type change[T any] struct {
	version uint64
	before  T
}

// maxChanges is more than the changes within a settle period. Of earlier ones, the source counts as
// unchanged.
const maxChanges = 8

// with returns the changes with a further one.
func (c *Changes[T]) with(version uint64, before T) *Changes[T] {
	steps := append(slices.Clone(c.all()), change[T]{version, before})
	return &Changes[T]{steps[max(0, len(steps)-maxChanges):]}
}

func (c *Changes[T]) all() []change[T] {
	if c == nil {
		return nil
	}
	return c.steps
}

// Len is how many changes are kept.
func (c *Changes[T]) Len() int { return len(c.all()) }

// latest returns the version of the latest change that is wanted; 0 without one.
func (c *Changes[T]) latest(wanted func(before T) bool) uint64 {
	for _, step := range slices.Backward(c.all()) {
		if wanted(step.before) {
			return step.version
		}
	}
	return 0
}

// at returns what was said in a version, by what is said now. If changes after it are forgotten, nothing
// shows that, and it is what is said now.
func (c *Changes[T]) at(version uint64, now T) T {
	steps := c.all()
	if len(steps) == maxChanges && steps[0].version > version {
		return now
	}
	for _, step := range slices.Backward(steps) {
		if step.version <= version {
			break
		}
		now = step.before
	}
	return now
}
