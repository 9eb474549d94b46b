package source

import (
	"strings"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
)

// A workload may name a source of another namespace, which has to allow that. For the workload, such
// a source is one of its own namespace whose name contains a slash: NAMESPACE/NAME. No object has
// such a name, so it is never mistaken for another source.

// IsForeign reports whether the key is that of a source in another namespace.
func (k LocalKey) IsForeign() bool {
	_, _, foreign := k.origin()
	return foreign
}

// origin returns the namespace and the name of a source in another namespace.
func (k LocalKey) origin() (namespace, name string, foreign bool) {
	if strings.IndexByte(k.Name, '/') < 0 || k.Kind != ConfigMap && k.Kind != Secret {
		return "", "", false // nearly all
	}
	return annotations.SplitForeign(k.Name)
}

// Keyed reports whether digests of the source are made with the digest.Key. That of a ConfigMap in
// another namespace is, too: otherwise the readers of a ledger could guess its data.
func (k LocalKey) Keyed() bool { return k.Kind.Keyed() || k.IsForeign() }

// IsForeign reports whether a workload of the namespace sees a source of another one under this key.
func (k Key) IsForeign() bool {
	namespace, _, foreign := k.Local().origin()
	return foreign && namespace != k.Namespace
}

// Origin returns the key of the object: another one for a source of another namespace.
func (k Key) Origin() Key {
	namespace, name, foreign := k.Local().origin()
	if !foreign || namespace == k.Namespace {
		return k
	}
	return Key{Kind: k.Kind, Namespace: namespace, Name: name}
}

// SeenFrom returns the key under which workloads of a namespace know the object.
func (k Key) SeenFrom(namespace string) Key {
	if k.Namespace == namespace || k.Namespace == "" {
		return k
	}
	return Key{Kind: k.Kind, Namespace: namespace, Name: k.Namespace + "/" + k.Name}
}

// Conceal replaces what shows the data of a source in another namespace, so that marks and ledgers
// in the namespace of a workload show only that the data differs.
func (s *Source) Conceal(key digest.Key) {
	if s.Digest.IsZero() {
		return // only its name is known
	}
	s.Digest = key.Foreign(s.Key.Namespace, s.Key.Kind.String()+" "+s.Key.Name, s.Digest)
	s.Reloader, s.Keys, s.Certificate = [20]byte{}, nil, Certificate{}
}
