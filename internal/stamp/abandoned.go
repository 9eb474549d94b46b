package stamp

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/reroll-dev/reroll/internal/digest"
)

// Usual is the default annotation of a stamp.
const Usual = "checksum/config"

// abandoned returns stamps of an earlier call under another key, which nothing would update any
// more. The value for no data is ours only under the key that no other tool uses, because charts
// write that value, too.
func abandoned(annotations *yaml.Node, chosen string) (keys []string) {
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

// drop removes abandoned stamps if that removes nothing else, such as a comment. The others are
// reported.
func (e *editor) drop(found *target, obj *object, annotations *yaml.Node) (left []warning) {
	for _, name := range abandoned(annotations, found.key) {
		key, value := own(annotations, name)
		all, after := e.pair(annotations, key, value)
		apart := !slices.ContainsFunc(found.drops, func(d extent) bool { return all.from < d.to && d.from < all.to })
		switch {
		case all.to == 0 || !apart:
			left = append(left, warning{key.Line, obj.String() + ": the stamp in " + name + " is no longer updated: remove it"})
			continue
		// If it is the only key in braces, the new one replaces it.
		case after.to > 0 && found.present == "" && len(annotations.Content) == 2:
			found.slots = []slot{{at: after.from, end: after.to, before: `"` + found.key + `": "`, after: `"`}}
		default:
			found.drops = append(found.drops, all)
		}
		found.dropped = append(found.dropped, name)
	}
	return left
}

// pair returns the text to remove for a key and its value and, in braces, also the extent of the
// two.
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

// pairInline also removes the comma after the pair, or the comma before the last pair.
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
