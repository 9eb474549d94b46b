package controller

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/workload"
)

// count is how many workloads have a record of which something is true.
func (c *Controller) count(which func(*record) bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, r := range c.records {
		if which(r) {
			n++
		}
	}
	return n
}

func (c *Controller) conflicts() int { return c.count(func(r *record) bool { return r.conflicted }) }

func (c *Controller) stale() int {
	return c.count(func(r *record) bool { return !r.staleSince.IsZero() })
}

func (c *Controller) withoutAnswer() int {
	return c.count(func(r *record) bool { return r.sent != nil })
}

func (c *Controller) othersAwaited() int {
	return c.count(func(r *record) bool { return r.others != nil })
}

func (c *Controller) toBeAdopted() int {
	return c.count(func(r *record) bool { return !r.adoptAt.IsZero() })
}

func (c *Controller) newcomers() int {
	return c.count(func(r *record) bool { return r.newcomer != nil })
}

func (c *Controller) taken() int {
	return c.count(func(r *record) bool { return r.accepted != accepted{} })
}

// underWay are the reloads that have not come to their end.
func (c *Controller) underWay() map[workload.Key]*tracked {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[workload.Key]*tracked{}
	for key, r := range c.records {
		if r.tracking != nil {
			all[key] = r.tracking
		}
	}
	return all
}

func TestAnEmptyRecordIsDeleted(t *testing.T) {
	c := &Controller{records: map[workload.Key]*record{}}
	one, other := workload.Key{Kind: "Deployment", Name: "one"}, workload.Key{Kind: "Deployment", Name: "other"}

	c.with(one, func(*record) {})
	if len(c.records) != 0 {
		t.Errorf("%d are kept for nothing", len(c.records))
	}
	c.with(one, func(r *record) { r.conflicted = true })
	c.with(other, func(r *record) {
		if r.conflicted {
			t.Error("the record of one workload is that of another")
		}
		r.refused = 3
	})
	if !c.recordOf(one).conflicted || c.recordOf(one).refused != 0 || c.recordOf(other).refused != 3 {
		t.Errorf("kept are %+v and %+v", c.recordOf(one), c.recordOf(other))
	}
	c.with(one, func(r *record) { r.conflicted = false })
	if _, kept := c.records[one]; kept || len(c.records) != 1 {
		t.Errorf("%d are kept, want that of the other", len(c.records))
	}
	if allocs := testing.AllocsPerRun(100, func() { c.with(one, func(r *record) { r.conflicted = false }) }); allocs != 0 {
		t.Errorf("a look at a record that says nothing takes %v allocations", allocs)
	}
}
