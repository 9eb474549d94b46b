package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

// DeleteMarker is written instead of a hash when the source was deleted.
const DeleteMarker = "aae45badef99284e4dae01d6046154ea9d99532f"

// envPrefix starts the name of every variable that marks a reload.
const envPrefix = "STAKATER_"

// EnvVarName returns the name of the environment variable that marks a reload. It is ambiguous:
// "my-config" and "my.config" share one variable. To mark a workload for several sources, compare
// the names.
func EnvVarName(src source.Key) string {
	// The prefix ends like a replaced character, which drops such characters at the start of the
	// name.
	variable := []byte(envPrefix)
	for i := range len(src.Name) {
		switch c := src.Name[i]; {
		case 'a' <= c && c <= 'z':
			variable = append(variable, c-'a'+'A')
		case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			variable = append(variable, c)
		case variable[len(variable)-1] != '_':
			variable = append(variable, '_')
		}
	}
	return string(variable) + "_" + src.Kind.Type()
}

// MarkContainer returns the regular container that carries the mark of a source. Uses are the uses
// of the source, and regular the names of the regular containers in the order of the template.
// Named reports whether the workload names the source in an annotation. No container is returned
// for a source that no annotation names and no container uses.
//
// Files take precedence over environments. Init containers never carry a mark: the first regular
// container does instead.
func MarkContainer(uses []Use, regular []string, named bool) (container string, ok bool) {
	if len(regular) == 0 {
		return "", false
	}
	for _, files := range []bool{true, false} {
		i := slices.IndexFunc(regular, func(name string) bool {
			return slices.ContainsFunc(uses, func(u Use) bool {
				return u.How.Mounts() == files && !u.Init && u.Container == name
			})
		})
		if i >= 0 {
			return regular[i], true
		}
		if slices.ContainsFunc(uses, func(u Use) bool { return u.How.Mounts() == files && u.Init }) {
			return regular[0], true
		}
	}
	if named {
		return regular[0], true
	}
	return "", false
}

// MarkHash returns the 40 hexadecimal digits that mark a workload as reloaded for the data of src.
// For a source of another namespace, and for a Secret under digest.SecretMarksKeyed, they follow from
// its Digest, so a ledger is enough to compute the mark; otherwise, they are what Reloader writes.
// Under digest.SecretMarksSHA1, src has to be read with a digest.Key that shows it.
func MarkHash(src source.Source, marks digest.SecretMarks) string {
	if src.Key.IsForeign() || src.Key.Kind.Keyed() && marks != digest.SecretMarksSHA1 {
		e := digest.NewEncoder(sha256.New())
		e.Begin('m')
		e.Write(src.Digest[:])
		return hex.EncodeToString(e.Sum(nil)[:len(src.Reloader)])
	}
	return hex.EncodeToString(src.Reloader[:])
}

// ReloadedFrom is the mark in an annotation of the pod template: the source that caused the latest
// reload.
type ReloadedFrom struct {
	Source     source.Key
	Hash       string
	Containers []string
	// ObservedAt is in seconds since 1970.
	ObservedAt int64
}

// reloadedFromText has the keys of the annotation in the order of the JSON text.
type reloadedFromText struct {
	Type       string   `json:"type"`
	Name       string   `json:"name"`
	Namespace  string   `json:"namespace"`
	Hash       string   `json:"hash"`
	Containers []string `json:"containerRefs"`
	ObservedAt int64    `json:"observedAt"`
}

// JSON returns the value of the annotation.
func (r ReloadedFrom) JSON() string {
	from := r.Source.Origin()
	text, _ := json.Marshal(reloadedFromText{ // strings and a number always marshal
		Type:       from.Kind.Type(),
		Name:       from.Name,
		Namespace:  from.Namespace,
		Hash:       r.Hash,
		Containers: append([]string{}, r.Containers...),
		ObservedAt: r.ObservedAt,
	})
	return string(text)
}

// ParseReloadedFrom parses the value of the annotation, written by Reroll or by Reloader.
func ParseReloadedFrom(text string) (ReloadedFrom, error) {
	var read reloadedFromText
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		return ReloadedFrom{}, fmt.Errorf("mark must be a JSON object with type, name, namespace and hash: %w", err)
	}
	kind, err := kindOfType(read.Type)
	if err != nil {
		return ReloadedFrom{}, fmt.Errorf("mark: %w", err)
	}
	if read.Name == "" || read.Hash == "" {
		return ReloadedFrom{}, fmt.Errorf("mark has name %q and hash %q, must have both", read.Name, read.Hash)
	}
	return ReloadedFrom{
		Source:     source.Key{Kind: kind, Namespace: read.Namespace, Name: read.Name},
		Hash:       read.Hash,
		Containers: read.Containers,
		ObservedAt: read.ObservedAt,
	}, nil
}

func kindOfType(text string) (source.Kind, error) {
	var types []string
	for _, kind := range source.Kinds() {
		if kind.Type() == text {
			return kind, nil
		}
		types = append(types, kind.Type())
	}
	return 0, fmt.Errorf("type is %q, must be one of %s", text, strings.Join(types, ", "))
}
