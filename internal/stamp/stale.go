package stamp

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/reroll-dev/reroll/internal/digest"
)

// Usual is the annotation for a stamp unless another one is asked for.
const Usual = "checksum/config"

// stale are stamps from another call, under a key that is not the one of this call: nothing would keep them up to date any more.
// What says that there is no data is ours for sure under the key that nobody else uses; charts write it too.
func stale(annotations *yaml.Node, chosen string) (keys []string) {
	for _, name := range []string{Usual, Fallback} {
		_, value := own(annotations, name)
		if name == chosen || value == nil || value.Kind != yaml.ScalarNode || value.Anchor != "" || !digest.IsStamp(value.Value) {
			continue
		}
		if name == Fallback || value.Value != digest.NoConfigData {
			keys = append(keys, name)
		}
	}
	return keys
}

// drop takes stale stamps away, as far as nothing else goes with them: a comment, say. The others are told.
func (e *editor) drop(found *target, obj *object, annotations *yaml.Node) (left []told) {
	for _, name := range stale(annotations, found.key) {
		key, value := own(annotations, name)
		all, after := e.pair(annotations, key, value)
		apart := !slices.ContainsFunc(found.drops, func(d extent) bool { return all.from < d.to && d.from < all.to })
		switch {
		case all.to == 0 || !apart:
			left = append(left, told{key.Line, obj.String() + ": the stamp in " + name + " is no longer updated: remove it"})
			continue
		case after.to > 0 && found.present == "" && len(annotations.Content) == 2: // the only one between braces makes room for the new one
			found.slots = []slot{{at: after.from, end: after.to, before: `"` + found.key + `": "`, after: `"`}}
		default:
			found.drops = append(found.drops, all)
		}
		found.dropped = append(found.dropped, name)
	}
	return left
}

// pair is what has to go with a key and its value, and for one between braces also where they themselves are.
func (e *editor) pair(mapping, key, value *yaml.Node) (all, itself extent) {
	from, to := e.offset(key), e.offset(value)
	behind := bytes.Index(e.text[to:], []byte(value.Value))
	if behind < 0 || value.Line != key.Line || key.Kind != yaml.ScalarNode {
		return extent{}, extent{}
	}
	to += behind + len(value.Value)
	if value.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		to++
	}
	if mapping.Style&yaml.FlowStyle != 0 {
		return e.pairInline(mapping, key, extent{from, to}), extent{from, to}
	}
	start, end := e.lines[key.Line-1], len(e.text)
	if key.Line < len(e.lines) {
		end = e.lines[key.Line]
	}
	if len(bytes.TrimSpace(e.text[start:from])) > 0 || len(bytes.TrimSpace(e.text[to:end])) > 0 {
		return extent{}, extent{}
	}
	return extent{start, end}, extent{}
}

// pairInline takes the comma behind it too, or the one in front of the last.
func (e *editor) pairInline(mapping, key *yaml.Node, itself extent) extent {
	next := slices.Index(mapping.Content, key) + 2
	if next < len(mapping.Content) {
		to := e.offset(mapping.Content[next])
		if len(bytes.Trim(e.text[itself.to:to], ", \t\r\n")) > 0 {
			return extent{}
		}
		return extent{itself.from, to}
	}
	before := bytes.TrimRight(e.text[:itself.from], " \t\r\n")
	if next == 2 {
		return itself
	}
	if !bytes.HasSuffix(before, []byte(",")) {
		return extent{}
	}
	return extent{len(before) - 1, itself.to}
}
