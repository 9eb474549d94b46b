package stamp

import (
	"math/rand/v2"
	"strings"
)

// hand writes the same manifests in ever different styles.
type hand struct {
	*rand.Rand
	b   strings.Builder
	eol string
}

// field is a key with a value: a string, a list of []field, a []field, or nil.
type field struct {
	key   string
	value any
}

func (h *hand) one(of ...string) string { return of[h.IntN(len(of))] }

func (h *hand) scalar(s string, flow bool) string {
	if s == "" || s == "null" {
		return s
	}
	switch h.IntN(4) {
	case 0:
		return "'" + s + "'"
	case 1:
		return `"` + s + `"`
	case 2:
		if h.IntN(10) == 0 && !flow {
			return "!!str " + s
		}
	}
	if s == "1" || s == "true" {
		return `"` + s + `"`
	}
	return s
}

// filler returns text that may be between lines.
func (h *hand) filler() {
	for h.IntN(4) == 0 {
		h.b.WriteString(h.one("", "   ", "# a comment", "    # annotations: {a: b}", "# ---") + h.eol)
	}
}

func (h *hand) inline(value any) {
	blank := func() { h.b.WriteString(h.one("", " ", "  ", h.eol+strings.Repeat(" ", 30))) }
	switch value := value.(type) {
	case string:
		h.b.WriteString(h.scalar(value, true))
	case []field:
		h.b.WriteString("{")
		for i, f := range value {
			if i > 0 {
				h.b.WriteString(",")
			}
			blank()
			h.b.WriteString(h.scalar(f.key, true) + ": ")
			h.inline(f.value)
		}
		blank()
		h.b.WriteString("}")
	case [][]field:
		h.b.WriteString("[")
		for i, item := range value {
			if i > 0 {
				h.b.WriteString(",")
			}
			blank()
			h.inline(item)
		}
		h.b.WriteString("]")
	case nil:
		h.b.WriteString("null")
	}
}

func (h *hand) block(fields []field, indent int, firstInLine bool) {
	for i, f := range fields {
		if i > 0 || !firstInLine {
			h.filler()
			h.b.WriteString(strings.Repeat(" ", indent))
		}
		h.b.WriteString(h.scalar(f.key, false) + h.one("", "", " ") + ":")
		deeper := indent + 1 + h.IntN(4)
		end := func() { h.b.WriteString(h.one("", "", "  ", " # a comment: {") + h.eol) }
		switch value := f.value.(type) {
		case string:
			h.b.WriteString(" " + h.scalar(value, false))
			end()
		case nil:
			h.b.WriteString(h.one("", " null", " ~", " Null"))
			end()
		case []field:
			if len(value) == 0 || h.IntN(4) == 0 {
				h.b.WriteString(" ")
				h.inline(value)
				end()
				continue
			}
			h.b.WriteString(h.one("", "", "", " &"+h.one("a", "b")+"1", " !!map"))
			end()
			h.block(value, deeper, false)
		case [][]field:
			if h.IntN(4) == 0 {
				h.b.WriteString(" ")
				h.inline(value)
				end()
				continue
			}
			end()
			at := indent + h.IntN(3)
			for _, item := range value {
				h.filler()
				gap := 1 + h.IntN(3)
				h.b.WriteString(strings.Repeat(" ", at) + "-" + strings.Repeat(" ", gap))
				h.block(item, at+1+gap, true)
			}
		}
	}
}

func (h *hand) shuffled(fields ...field) []field {
	h.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return fields
}

// stream writes a ConfigMap and a Deployment. The tests change data and label.
func (h *hand) stream(data, label string) string {
	h.eol = h.one("\n", "\n", "\r\n")
	if h.IntN(8) == 0 {
		h.b.WriteString(byteOrderMark)
	}
	if h.IntN(8) == 0 {
		h.b.WriteString("%YAML 1.1" + h.eol + "---" + h.eol)
	}
	cm := h.shuffled(field{"apiVersion", "v1"}, field{"kind", "ConfigMap"}, field{"data", []field{{"a", data}}},
		field{"metadata", h.shuffled(field{"name", "web"}, field{"labels", []field{{"a", label}}})})
	template := []field{{"spec", []field{{"containers", [][]field{h.shuffled(
		field{"name", "app"}, field{"envFrom", [][]field{{{"configMapRef", []field{{"name", "web"}}}}}},
	)}}}}}
	if meta, ok := h.metadata(label); ok {
		template = h.shuffled(append(template, field{"metadata", meta})...)
	}
	pods := h.shuffled(field{"apiVersion", "apps/v1"}, field{"kind", "Deployment"}, field{"metadata", []field{{"name", "web"}}},
		field{"spec", h.shuffled(field{"replicas", "1"}, field{"template", template})})
	for i, doc := range h.either(cm, pods) {
		if i > 0 {
			h.b.WriteString(h.one("", "", "..."+h.eol) + "---" + h.one("", "", " ", " # next") + h.eol)
		}
		h.filler()
		if h.IntN(5) == 0 {
			h.inline(doc)
			h.b.WriteString(h.eol)
		} else {
			h.block(doc, 0, false)
		}
	}
	return h.b.String()
}

func (h *hand) either(a, b []field) [][]field {
	if h.IntN(2) == 0 {
		return [][]field{b, a}
	}
	return [][]field{a, b}
}

func (h *hand) metadata(label string) (any, bool) {
	labels := field{"labels", []field{{"app", label}}}
	switch h.IntN(9) {
	case 0:
		return nil, false
	case 1:
		return nil, true
	case 2:
		return []field{}, true
	case 3:
		return []field{labels}, true
	case 4:
		return h.shuffled(labels, field{"annotations", nil}), true
	case 5:
		return h.shuffled(labels, field{"annotations", []field{}}), true
	case 6:
		return h.shuffled(labels, field{"annotations", h.shuffled(field{"a", "b"}, field{"c/d", "ü"})}), true
	case 7:
		return h.shuffled(labels, field{"annotations", h.shuffled(field{"a", "b"}, field{"checksum/config", h.one("no-config-data", "reroll1:01230000000000000000000000000000")})}), true
	default:
		return []field{{"annotations", []field{{"checksum/config", "of somebody"}}}}, true
	}
}
