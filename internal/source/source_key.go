package source

import "cmp"

// Key identifies a source in a cluster. It is comparable.
type Key struct {
	Kind      Kind
	Namespace string
	Name      string
}

// String returns the key in the form "ConfigMap shop/web", without a namespace if there is none.
func (k Key) String() string {
	if k.Namespace == "" || k.IsForeign() {
		return k.Local().String()
	}
	return k.Kind.String() + " " + k.Namespace + "/" + k.Name
}

// Local returns the key as seen from within its namespace.
func (k Key) Local() LocalKey {
	return LocalKey{Kind: k.Kind, Name: k.Name}
}

// LocalKey identifies a source as the workload that uses it does: the source is in its namespace or
// in none, or else its name begins with its namespace, see IsForeign. It is comparable.
type LocalKey struct {
	Kind Kind
	Name string
}

// String returns the key in the form "ConfigMap web".
func (k LocalKey) String() string {
	return k.Kind.String() + " " + k.Name
}

// In returns the key of the source that a workload of a namespace uses under this name.
func (k LocalKey) In(namespace string) Key {
	if k.Kind.ClusterScoped() {
		namespace = ""
	}
	return Key{Kind: k.Kind, Namespace: namespace, Name: k.Name}
}

// CompareLocalKeys orders keys by kind and name.
func CompareLocalKeys(a, b LocalKey) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}
