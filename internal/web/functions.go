package web

import (
	"html/template"
	"time"
)

// navigation is a page in the head of all pages.
type navigation struct{ Page, Title, Address string }

// functions are those of the templates.
func (s *site) functions() template.FuncMap {
	return template.FuncMap{
		"pages": func() []navigation {
			return []navigation{{"now", "Now", "./"}, {"map", "Map", "map"}, {"gates", "Gates", "gates"}, {"controller", "Controller", "controller"}}
		},
		"rfc": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"at":  s.when,
		"txt": s.text,
		"id":  id,
	}
}
