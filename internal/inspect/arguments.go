package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// shortNames returns the short names that kubectl accepts, too.
func shortNames() map[string]string {
	return map[string]string{"deploy": "deployment", "sts": "statefulset", "ds": "daemonset", "cj": "cronjob", "ro": "rollout", "cm": "configmap"}
}

// Workload finds a workload by the text of a user: deployment/web, deploy/web, or only web.
func (o *Objects) Workload(ns, text string) (workload.Key, error) {
	kind, name, err := split(text, o.settings.workloadKinds())
	if err != nil {
		return workload.Key{}, cmp.Or(NotSource(text), err)
	}
	var found, near []workload.Key
	for key := range o.all(ns) {
		switch {
		case key.Namespace != ns:
		case key.Name == name && (kind == "" || key.Kind == kind):
			found = append(found, key)
		case key.Name == name || annotations.Alike(key.Name, name):
			near = append(near, key)
		}
	}
	slices.SortFunc(found, workload.CompareKeys)
	slices.SortFunc(near, workload.CompareKeys)
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return workload.Key{}, fmt.Errorf("%s is ambiguous: write %s", name, listed(refs(found), "or"))
	}
	for key, err := range o.skipped {
		if key.Namespace == ns && key.Name == name && (kind == "" || key.Kind == kind) {
			return key, fmt.Errorf("could not %w", err)
		}
	}
	for _, k := range o.settings.Rules.Kinds {
		if err := o.unread[k.Label()]; err != nil && (kind == "" || kind == k.Name) {
			return workload.Key{}, fmt.Errorf("you may not list %s in namespace %s: %w", k.Label(), ns, err)
		}
	}
	if word, ok := o.settings.workloadKinds().find(name); ok && kind == "" && len(near) == 0 {
		return workload.Key{}, fmt.Errorf("%s is a kind: write %s/NAME", word, name)
	}
	return workload.Key{}, fmt.Errorf("namespace %s has no %s%s", ns, cmp.Or(kind, "workload")+" "+name, didYouMean(refs(near)))
}

// NotSource returns an error for a word such as configmap/web if a workload is expected.
func NotSource(text string) error {
	kind, name, err := split(text, sourceWords())
	if err != nil || kind == "" {
		return nil //nolint:nilerr // a workload may have this name
	}
	return fmt.Errorf("%s is a %s, not a workload. To list the workloads that its changes roll: reroll plan %s/%s", text, kind, strings.ToLower(kind), name)
}

// KindThenName returns KIND/NAME if a user wrote them as two arguments, as kubectl allows.
func KindThenName(args []string) (joined string, ok bool) {
	if len(args) < 2 || strings.Contains(args[0]+args[1], "/") {
		return "", false
	}
	kinds := (&Settings{Rules: rules.Settings{Kinds: kinds.All()}}).workloadKinds()
	for _, known := range []words{kinds, sourceWords(), {"pod": "Pod", "po": "Pod"}} {
		if _, ok := known.find(args[0]); ok {
			return strings.ToLower(args[0]) + "/" + args[1], true
		}
	}
	return "", false
}

// TemplateOwner returns the workload whose pod template a workload uses, because the answer is
// about that one. If a workload has its own pod template, TemplateOwner returns the workload
// itself.
func (o *Objects) TemplateOwner(key workload.Key) (workload.Key, error) {
	user, _ := o.workload(key)
	lender := user.TemplateOwner
	if lender == nil {
		return key, nil
	}
	if !o.settings.reads(key.Kind) {
		return key, fmt.Errorf("%s uses the pod template of %s, and %s", key, lender, o.settings.passesOver(o, key))
	}
	if _, ok := o.workload(*lender); !ok {
		return key, fmt.Errorf("%s uses the pod template of %s, which does not exist, is not readable for you, or is not rolled", key, lender)
	}
	return *lender, nil
}

// Source finds a source by the text of a user, as Workload does. The source need not exist.
func (o *Objects) Source(ns, text string) (source.Key, error) {
	kind, name, err := split(text, sourceWords())
	if err != nil {
		return source.Key{}, err
	}
	var found []source.Key
	for _, k := range sourceKinds() {
		key := source.LocalKey{Kind: k, Name: name}.In(ns)
		if kind != "" {
			if k.String() == kind {
				return key, nil
			}
			continue
		}
		if _, ok := o.source(key); ok {
			found = append(found, key)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		var near []string
		for key := range o.sourcesIn(ns) {
			if key.Namespace == ns && annotations.Alike(key.Name, name) {
				near = append(near, strings.ToLower(key.Kind.String())+"/"+key.Name)
			}
		}
		slices.Sort(near)
		return source.Key{}, fmt.Errorf("namespace %s has no ConfigMap and no Secret %s%s (write configmap/%s or secret/%s for one that does not exist)", ns, name, didYouMean(near), name, name)
	default:
		return source.Key{}, fmt.Errorf("%s is ambiguous: write configmap/%s or secret/%s", name, name, name)
	}
}

// words map the words that users write for kinds, singular and in lower case, to the kinds.
type words map[string]string

// sourceWords returns the words for the kinds of sources.
func sourceWords() words {
	known := words{}
	for _, k := range sourceKinds() {
		known[strings.ToLower(k.String())] = k.String()
	}
	return known
}

// workloadKinds returns the words for the kinds of workloads, with and without the group, because
// kubectl accepts both. If two kinds have the same name, the word without a group means the kind of
// Kubernetes, as in kubectl.
func (s *Settings) workloadKinds() words {
	known := words{}
	for _, kind := range s.Rules.Kinds {
		object := kind.Object()
		if short := strings.ToLower(object.Kind); known[short] == "" {
			known[short] = kind.Name
		}
		known[strings.ToLower(object.GroupKind().String())] = kind.Name
	}
	return known
}

// find accepts the plural as well, and the version that may precede the group.
func (known words) find(word string) (string, bool) {
	word = strings.ToLower(word)
	kind, group, qualified := strings.Cut(word, ".")
	if long, ok := shortNames()[kind]; ok {
		kind = long
	}
	groups := []string{"." + group}
	if _, rest, ok := strings.Cut(group, "."); ok {
		groups = append(groups, "."+rest)
	}
	if !qualified {
		groups = []string{""}
	}
	for _, group := range groups {
		for _, singular := range []string{kind, strings.TrimSuffix(kind, "s")} {
			if name, ok := known[singular+group]; ok {
				return name, true
			}
		}
	}
	return "", false
}

// names returns the words without a group, for a hint.
func (known words) names() []string {
	var all []string
	for _, word := range slices.Sorted(maps.Keys(known)) {
		if !strings.Contains(word, ".") {
			all = append(all, word)
		}
	}
	return all
}

// split reads KIND/NAME. The kind is empty if the text has only a name.
func split(text string, known words) (kind, name string, err error) {
	word, name, ok := strings.Cut(text, "/")
	if !ok {
		return "", text, nil
	}
	kind, ok = known.find(word)
	if !ok || name == "" {
		return "", "", fmt.Errorf("%s: write KIND/NAME, where KIND is %s", text, listed(known.names(), "or"))
	}
	return kind, name, nil
}

func refs(keys []workload.Key) []string {
	var all []string
	for _, key := range keys {
		all = append(all, ref(key))
	}
	return all
}

// ref returns a workload as a user of kubectl writes it.
func ref(key workload.Key) string { return strings.ToLower(key.Kind) + "/" + key.Name }

// near returns the sources of a namespace with a name of which the given one may be a misspelling.
func (e *Evaluation) near(key source.LocalKey, ns string) []string {
	var names []string
	in := key.In(ns).Namespace
	for other := range e.objects.sourcesIn(in) {
		if other.Namespace != in {
			continue
		}
		if other.Kind == key.Kind && annotations.Alike(other.Name, key.Name) || other.Name == key.Name {
			names = append(names, other.Local().String())
		}
	}
	slices.Sort(names)
	return names
}

// didYouMean suggests the objects that the user may have meant.
func didYouMean(names []string) string { return annotations.DidYouMean(names, "") }

// listed joins names for a sentence.
func listed(names []string, and string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + and + " " + names[last]
}
