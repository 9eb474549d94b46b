package uninstall

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/report"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Cluster is what the removal needs of a cluster.
type Cluster interface {
	// EachWorkload reads all objects of all kinds of workload, and returns the resources that may
	// not be listed.
	EachWorkload(ctx context.Context, each func(kinds.Kind, runtime.Object)) (unread []string, err error)
	// Again reads one of them again. It is nil if it no longer exists.
	Again(ctx context.Context, kind kinds.Kind, key workload.Key) (runtime.Object, error)
	Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error)
}

// Run is one removal, or the list of what it would remove.
type Run struct {
	Cluster Cluster
	Names   annotations.Names
	DryRun  bool
	Out     io.Writer

	done, resumed, marked, undecided int
	failed                           int
}

// Failed is how many objects could not be read or cleaned.
func (r *Run) Failed() int { return r.failed }

// Workloads lists what Reroll left on workloads, and removes it unless it is a dry run.
func (r *Run) Workloads(ctx context.Context) error {
	var all []Leftover
	unread, err := r.Cluster.EachWorkload(ctx, func(kind kinds.Kind, obj runtime.Object) {
		l, err := Of(kind, obj, r.Names)
		if err != nil {
			r.fail(kind.Name, err)
		}
		if l.Any() {
			all = append(all, l)
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b Leftover) int {
		return cmp.Or(strings.Compare(a.Key.Namespace, b.Key.Namespace), strings.Compare(a.Key.Kind, b.Key.Kind), strings.Compare(a.Key.Name, b.Key.Name))
	})
	for i := range all {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.clean(ctx, all[i])
	}
	for _, resource := range unread {
		r.failed++
		r.print(resource, "you may not list them, so there may be more")
	}
	return nil
}

// clean prints what becomes of one workload.
func (r *Run) clean(ctx context.Context, l Leftover) {
	if l.Removable() {
		var err error
		if !r.DryRun {
			l, err = r.remove(ctx, l)
		}
		if err != nil {
			r.fail(l.Key.String(), err)
			return
		}
	}
	if l.Removable() {
		r.done++
		if l.Resumes {
			r.resumed++
		}
		r.print(l.Key.String(), l.removal(!r.DryRun))
	}
	if l.Undecided != "" {
		r.undecided++
		r.print(l.Key.String(), "left to you: "+l.Undecided)
	}
	if len(l.Markers) > 0 {
		r.marked++
		r.print(l.Key.String(), "stays in the pod template: "+strings.Join(l.Markers, ", "))
	}
}

// attempts bounds how often an object is read again that others keep changing.
const attempts = 10

// remove returns what was removed in the end: if another client has changed the object, it is read
// again.
func (r *Run) remove(ctx context.Context, l Leftover) (Leftover, error) {
	for try := 1; ; try++ {
		patch, err := l.Patch()
		if err != nil {
			return l, err
		}
		_, err = r.Cluster.Patch(ctx, l.kind, l.Key, patch)
		switch {
		case apierrors.IsNotFound(err):
			return Leftover{Key: l.Key}, nil
		case !apierrors.IsConflict(err) || try == attempts:
			return l, err
		}
		obj, err := r.Cluster.Again(ctx, l.kind, l.Key)
		if err != nil {
			return l, err
		}
		if obj == nil {
			return Leftover{Key: l.Key}, nil
		}
		next, err := Of(l.kind, obj, r.Names)
		if err != nil || !next.Removable() {
			return next, err
		}
		l = next
	}
}

func (r *Run) fail(object string, err error) {
	r.failed++
	r.print(object, "failed: "+err.Error())
}

func (r *Run) print(object, text string) {
	fmt.Fprintln(r.Out, object+": "+report.OneLine(text))
}

// Summary counts.
func (r *Run) Summary() {
	clean, resume := "Cleaned ", "resumed"
	if r.DryRun {
		clean, resume = "Would clean ", "resume"
	}
	text := clean + counted(r.done, "object")
	if r.resumed > 0 {
		text += fmt.Sprintf(", and %s %d of them", resume, r.resumed)
	}
	if r.failed > 0 {
		text += fmt.Sprintf("; %d failed", r.failed)
	}
	if r.undecided > 0 {
		text += "; left to you: " + counted(r.undecided, "object")
	}
	fmt.Fprintln(r.Out, text+".")
	if r.marked > 0 {
		fmt.Fprintf(r.Out, "Change markers stay in %s. They have no effect, and to remove one rolls the workload.\n", counted(r.marked, "pod template"))
	}
}

func counted(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
