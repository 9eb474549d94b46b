package source

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ClassReport is the status in which one Pod reports its mounted objects of a SecretProviderClass.
type ClassReport struct {
	// Name is the name of the SecretProviderClassPodStatus.
	Name  string
	Class Key
	// Pod is the name of the Pod, and Owner distinguishes it from a later Pod of that name.
	Pod   string
	Owner types.UID
	// Version is its resource version.
	Version uint64
	// Created is when the status was created, and Written when the reported versions were written.
	Created, Written time.Time
	// Touched reports whether something else of the status may have been written after the reported
	// versions, so that Version is that of the other write.
	Touched bool
	// Again reports whether the status was written more than once, if it counts its generations.
	Again bool
	// Objects are the versions of the mounted objects by id. A version is a name, and not secret.
	Objects map[string]string
}

// writtenWithCreation is the greatest difference between the creation time and the write time of a
// status that was written once: the API server records seconds.
const writtenWithCreation = time.Second

// OwnsReport reports whether managed fields contain the reported versions.
func OwnsReport(fields *metav1.FieldsV1) bool {
	return OwnsField(fields, "objects")
}

// rewritten reports whether the Pod was given other versions than it started with.
func (r *ClassReport) rewritten() bool {
	return r.Again || r.Written.Sub(r.Created) > writtenWithCreation
}

// writtenIn is the resource version of the write of the reported versions, 0 if it may be that of
// another write.
func (r *ClassReport) writtenIn() uint64 {
	if r.Touched {
		return 0
	}
	return r.Version
}

// write is the write of the reported versions, which a watch has shown in a resource version.
func (r *ClassReport) write(in uint64) turnWrite {
	return turnWrite{written: r.Written, in: in, report: r.writtenIn()}
}

// sortByWrite sorts reports by when their versions were written. The clocks of several API servers
// differ by seconds, so the resource versions decide. A report that was touched is at its time, and
// no later report is before that. Some writes leave no trace, such as the removal of a label: they
// are found if the times differ by more.
func sortByWrite(reports []ClassReport) {
	slices.SortFunc(reports, func(a, b ClassReport) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Name, b.Name))
	})
	written, latest := make(map[string]time.Time, len(reports)), time.Time{}
	for i := range reports {
		r := &reports[i]
		if r.Written.After(latest) {
			latest = r.Written
		}
		written[r.Name] = latest
		if r.Touched || latest.Sub(r.Written) > StartLag {
			written[r.Name] = r.Written
		}
	}
	slices.SortStableFunc(reports, func(a, b ClassReport) int { return written[a.Name].Compare(written[b.Name]) })
}
