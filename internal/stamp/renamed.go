package stamp

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/source"
)

// renamed is the record that kustomize keeps in annotations of an object while its functions run.
// The object already has its new name. References in pod templates still have an earlier name:
// kustomize updates them last, when it also adds the hashes of generators.
type renamed struct {
	// former are the earlier names.
	former []string
	// affixes are the added prefixes and suffixes. Kustomize uses them if several objects had the
	// same name.
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

// resolve returns the current key of a referenced source: the object with the affixes of the
// workload, else the object with exactly this name, else the only object that had this name.
// Kustomize rejects everything else as ambiguous.
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
