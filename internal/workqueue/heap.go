package workqueue

type byDue []*item

func (h byDue) Len() int { return len(h) }

func (h byDue) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

func (h byDue) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push implements heap.Interface.
func (h *byDue) Push(x any) {
	it := x.(*item)
	it.at = len(*h)
	*h = append(*h, it)
}

// Pop implements heap.Interface.
func (h *byDue) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	it.at = -1
	(*h)[last] = nil
	*h = (*h)[:last]
	return it
}
