package stamp

import "bytes"

// A value in braces can be on one line, or on many: its end is found by its brackets. Comments,
// tags and plain texts are unknown here, so the result may be wrong. The parser always checks it
// before it is used.

// quoted returns the text after a quoted string.
func quoted(text []byte, at int) int {
	quote := text[at]
	for at++; at < len(text); at++ {
		switch {
		case text[at] == quote:
			return at + 1
		case text[at] == '\\' && quote == '"':
			at++
		}
	}
	return len(text)
}

// closed returns the text after the bracket that closes the first one, and the end of the text if
// none does.
func closed(text []byte, at int) int {
	for depth := 0; at < len(text); {
		switch text[at] {
		case '"', '\'':
			at = quoted(text, at)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return at + 1
			}
		}
		at++
	}
	return len(text)
}

func unblank(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t') {
		at++
	}
	return at
}

// opened returns the position of the bracket that opens the list of a key, or -1 if none follows.
func opened(text []byte, at int) int {
	if at = unblank(text, at); at == len(text) || text[at] != ':' {
		return -1
	}
	if at = unblank(text, at+1); at == len(text) || text[at] != '[' {
		return -1
	}
	return at
}

const itemsKey = "items"

// itemsBracket returns the position where the items of a list begin, whether the whole list or only
// its items are in braces. It returns -1 for anything else.
func itemsBracket(doc []byte) int {
	start := unblank(doc, 0)
	if bytes.HasPrefix(doc[start:], []byte(byteOrderMark)) {
		start = unblank(doc, start+len(byteOrderMark))
	}
	if bytes.HasPrefix(doc[start:], []byte("---")) {
		start = unblank(doc, start+len("---"))
	}
	if start == len(doc) || doc[start] != '{' {
		key := "\n" + itemsKey
		if at := bytes.Index(doc, []byte(key)); at >= 0 {
			return opened(doc, at+len(key))
		}
		return -1
	}
	for at := start + 1; at < len(doc); {
		switch doc[at] {
		case '"', '\'':
			end := quoted(doc, at)
			if open := opened(doc, end); open >= 0 && string(doc[at+1:end-1]) == itemsKey {
				return open
			}
			at = end
		case '{', '[':
			at = closed(doc, at)
		case '}':
			return -1
		default:
			if bytes.HasPrefix(doc[at:], []byte(itemsKey)) {
				if open := opened(doc, at+len(itemsKey)); open >= 0 {
					return open
				}
			}
			at++
		}
	}
	return -1
}

// itemsInBraces returns the items between two brackets, each of them in braces.
func itemsInBraces(doc []byte, bracket int) []extent {
	var items []extent
	for at := bracket + 1; ; at++ {
		if at = unblank(doc, at); at == len(doc) || doc[at] != '{' {
			return nil
		}
		item := extent{at, closed(doc, at)}
		items = append(items, item)
		switch at = unblank(doc, item.to); {
		case at < len(doc) && doc[at] == ']':
			return items
		case at == len(doc) || doc[at] != ',':
			return nil
		}
	}
}
