package stamp

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/source"
)

// renamed is what kustomize records in annotations of an object while its functions run. The object has its new name by then, and
// the references to it in pod templates still have an earlier one: kustomize updates them last, when it also adds the hashes of
// generators.
type renamed struct {
	// former are the earlier names.
	former []string
	// affixes are the prefixes and suffixes that were added. Kustomize goes by them if several objects had a name.
	affixes string
}

const kustomizeNotes = "internal.config.kubernetes.io/"

func renamedOf(obj *object) renamed {
	note := func(name string) string {
		return text(get(obj.node, "metadata", "annotations", kustomizeNotes+name))
	}
	var r renamed
	for name := range strings.SplitSeq(note("previousNames"), ",") {
		if name != "" && name != obj.name && !slices.Contains(r.former, name) {
			r.former = append(r.former, name)
		}
	}
	r.affixes = note("prefixes") + " " + note("suffixes")
	return r
}

// resolve returns the present key of what a workload references: that of an object with the affixes of the workload, else with the
// name as it is, else of the only one that had the name. Kustomize rejects everything else as ambiguous.
func (all *sources) resolve(key source.Key, by renamed) source.Key {
	alike := func(src *manifestSource) bool { return src.renamed.affixes == by.affixes }
	former := all.former[key]
	if len(former) == 0 || slices.ContainsFunc(all.by[key], alike) {
		return key
	}
	if i := slices.IndexFunc(former, alike); i >= 0 {
		return former[i].key
	}
	several := slices.ContainsFunc(former, func(src *manifestSource) bool { return src.key != former[0].key })
	if len(all.by[key]) > 0 || several {
		return key
	}
	return former[0].key
}
