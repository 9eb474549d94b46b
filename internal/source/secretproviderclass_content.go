package source

import (
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/internal/digest"
)

// content is the present version of each object.
func (c *Class) content() map[string]string {
	content := map[string]string{}
	for id, all := range c.objects {
		if version := all.present().version; version != "" {
			content[id] = version
		}
	}
	return content
}

// Source is the class as a source; there is none before a Pod has reported.
func (c *Class) Source() (Source, bool) {
	content := c.content()
	if len(content) == 0 {
		return Source{}, false
	}
	src := Source{
		Key: c.key, ResourceVersion: strconv.FormatUint(c.version, 10), AnnotatedIn: c.definedIn,
		Annotations: c.annotations, Mistakes: c.mistakes, Started: make(map[string]bool, len(c.reports)),
	}
	rotated := false
	for _, all := range c.objects {
		last := all.present()
		if last.written.After(src.DataTime) {
			src.DataTime = last.written
		}
		rotated = rotated || last.rotated
	}
	// No running Pod was given this data, so nothing shows since when the store has it.
	src.Created = src.DataTime
	if rotated {
		src.Created, src.EditedAt = c.first, src.DataTime.Unix()
	}
	for _, m := range c.reports {
		if len(m.Objects) > 0 {
			src.Started[m.Pod] = m.started && c.isPresent(m)
		}
	}
	src.setContent(content)
	return src, true
}

// isPresent reports whether no Pod has been given anything that this Pod lacks.
func (c *Class) isPresent(m *classMember) bool {
	for id, all := range c.objects {
		if !m.hasPresent(id, all) && slices.ContainsFunc(all.since(m.turnOf(id)), func(t turn) bool { return t.rotated }) {
			return false
		}
	}
	return true
}

// setContent computes the digests of the versions. For Reloader, the name of the class is one more
// object.
func (s *Source) setContent(versions map[string]string) {
	items := make([]digest.Item, 0, len(versions))
	texts := []string{"SecretProviderClassName=" + s.Key.Name}
	for id, version := range versions {
		items = append(items, digest.Item{Section: digest.TextSection, Key: id, Text: version})
		texts = append(texts, id+"="+version)
	}
	slices.SortFunc(texts, cmp.Compare[string])
	s.Digest, s.Keys = digest.NewEncoder(sha256.New()).Content(items)
	s.Reloader = sha1.Sum([]byte(strings.Join(texts, ";")))
}
