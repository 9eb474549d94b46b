package source

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhatFieldManagersProve(t *testing.T) {
	const (
		data      = `{"f:data":{".":{},"f:metadata":{}}}`
		typed     = `{"f:data":{"f:k":{}},"f:type":{}}`
		labels    = `{"f:metadata":{"f:labels":{"f:data":{}}}}`
		both      = `{"f:data":{"f:k":{}},"f:metadata":{"f:annotations":{"f:note":{}}}}`
		immutable = `{"f:data":{"f:k":{}},"f:immutable":{}}`
		match     = `{"f:metadata":{"f:annotations":{"f:reloader.stakater.com/match":{}}}}`
	)
	type entry struct {
		fields string
		second int64
	}
	for name, tc := range map[string]struct {
		entries         []entry
		written, edited int64
	}{
		"nobody has written since the creation":    {[]entry{{data, 10}}, 10, 0},
		"a manager of the data alone":              {[]entry{{data, 20}}, 20, 20},
		"the type of a Secret never changes":       {[]entry{{typed, 20}}, 20, 20},
		"a manager of labels":                      {[]entry{{data, 10}, {labels, 20}}, 10, 0},
		"a manager of data and an annotation":      {[]entry{{both, 20}}, 20, 0},
		"it may have been made immutable":          {[]entry{{immutable, 20}}, 20, 0},
		"an edit, and an annotation by another":    {[]entry{{data, 20}, {both, 30}}, 30, 20},
		"fields that cannot be read":               {[]entry{{`{"f:data":`, 20}}, 10, 0},
		"it came to match after the edit":          {[]entry{{data, 20}, {match, 30}}, 20, 20},
		"a manager from before it was there again": {[]entry{{data, 5}}, 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			meta := &metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.Unix(10, 0))}
			for _, e := range tc.entries {
				when := metav1.NewTime(time.Unix(e.second, 0))
				meta.ManagedFields = append(meta.ManagedFields, metav1.ManagedFieldsEntry{Manager: "m", Time: &when, FieldsV1: metav1.NewFieldsV1(e.fields)})
			}
			written, _, edited := dataTimes(meta, dataFieldsOf(ConfigMap))
			if written.Unix() != tc.written || edited != tc.edited {
				t.Errorf("written at %d and edited at %d, want %d and %d", written.Unix(), edited, tc.written, tc.edited)
			}
		})
	}
}

func TestWhoWroteTheDataLast(t *testing.T) {
	at := func(second int64, manager, fields string) metav1.ManagedFieldsEntry {
		when := metav1.NewTime(time.Unix(second, 0))
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &when, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const data, labels = `{"f:data":{"f:a":{}}}`, `{"f:metadata":{"f:labels":{"f:data":{}}}}`
	for about, tc := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    string
	}{
		"only one client has written it":     {[]metav1.ManagedFieldsEntry{at(10, "helm", data)}, "helm"},
		"another client has edited it since": {[]metav1.ManagedFieldsEntry{at(10, "helm", data), at(20, "operator", data)}, "operator"},
		"the newest edit counts":             {[]metav1.ManagedFieldsEntry{at(30, "operator", data), at(20, "helm", data)}, "operator"},
		"a label named data is no data":      {[]metav1.ManagedFieldsEntry{at(20, "helm", data), at(20, "labeler", labels), at(30, "labeler", labels)}, "helm"},
		"no managed fields":                  {nil, ""},
		"several clients created it":         {[]metav1.ManagedFieldsEntry{at(10, "helm", data), at(10, "labeler", labels)}, ""},
	} {
		_, writer, _ := dataTimes(&metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.Unix(10, 0)), ManagedFields: tc.entries}, dataFieldsOf(ConfigMap))
		if writer != tc.want {
			t.Errorf("%s: written by %q, want %q", about, writer, tc.want)
		}
	}
}
