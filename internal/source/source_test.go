package source_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

func configMap(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Data: data}
}

func secret(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Data: data}
}

func digestKey(tb testing.TB, seed byte) digest.Key {
	tb.Helper()
	key, err := digest.NewKey(bytes.Repeat([]byte{seed}, 32))
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func fromConfigMap(cm *corev1.ConfigMap) source.Source {
	return source.FromConfigMap(cm, annotations.DefaultNames())
}

func TestSourceKindNames(t *testing.T) {
	for want, kind := range map[string]source.Kind{
		"ConfigMap CONFIGMAP":                     source.ConfigMap,
		"Secret SECRET":                           source.Secret,
		"SecretProviderClass SECRETPROVIDERCLASS": source.SecretProviderClass,
		"SourceKind(0) SOURCEKIND(0)":             0,
	} {
		if got := kind.String() + " " + kind.Type(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	key := source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "web"}
	if got, want := key.String(), "ConfigMap shop/web"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := key.Local().String(), "ConfigMap web"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := key.Local().In("shop"); got != key {
		t.Errorf("there and back gives %v", got)
	}
}

func TestSourceKeepsIdentityAndAnnotations(t *testing.T) {
	names := annotations.DefaultNames()
	names.Ignore = "example.com/ignore"
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        source.Annotations
	}{
		"no annotations":                        {nil, source.Annotations{}},
		"match":                                 {map[string]string{names.Match: "true"}, source.Annotations{Match: true}},
		"match in another spelling is no match": {map[string]string{names.Match: "True"}, source.Annotations{}},
		"ignore under a renamed key":            {map[string]string{"example.com/ignore": "true"}, source.Annotations{Ignore: true}},
		"ignore under the key it no longer has": {map[string]string{"reloader.stakater.com/ignore": "true"}, source.Annotations{}},
		"ignore in another spelling":            {map[string]string{"example.com/ignore": "1"}, source.Annotations{}},
	} {
		t.Run(name, func(t *testing.T) {
			meta := metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", ResourceVersion: "7", Annotations: tc.annotations}
			for kind, got := range map[source.Kind]source.Source{
				source.ConfigMap: source.FromConfigMap(&corev1.ConfigMap{ObjectMeta: meta}, names),
				source.Secret:    source.FromSecret(&corev1.Secret{ObjectMeta: meta}, digestKey(t, 1), names),
			} {
				tc.want.Labels = source.LabelsOf(nil)
				if diff := cmp.Diff(tc.want, got.Annotations, cmpopts.EquateComparable(annotations.Kept{}, annotations.AllowFrom{}, source.Labels{})); diff != "" {
					t.Errorf("%s (-want +got):\n%s", kind, diff)
				}
				if want := (source.Key{Kind: kind, Namespace: "shop", Name: "web"}); got.Key != want || got.UID != "u" || got.ResourceVersion != "7" {
					t.Errorf("got %v, uid %s, resourceVersion %s", got.Key, got.UID, got.ResourceVersion)
				}
			}
		})
	}
}

func TestANilObjectIsNoSource(t *testing.T) {
	for _, got := range []source.Source{
		source.FromConfigMap(nil, annotations.DefaultNames()),
		source.FromSecret(nil, digestKey(t, 1), annotations.DefaultNames()),
	} {
		if diff := cmp.Diff(source.Source{}, got, cmpopts.EquateComparable(annotations.Kept{}, annotations.AllowFrom{}, source.Labels{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestDataTime(t *testing.T) {
	at := func(minute int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 5, 1, 12, minute, 0, 0, time.UTC)}
	}
	type manager struct {
		time   *metav1.Time
		fields string
	}
	for name, tc := range map[string]struct {
		managers []manager
		want     int
	}{
		"nobody manages anything":                  {nil, 10},
		"the data":                                 {[]manager{{at(20), `{"f:data":{".":{},"f:a":{}}}`}}, 20},
		"the binary data":                          {[]manager{{at(20), `{"f:binaryData":{"f:a":{}}}`}}, 20},
		"the data after other fields":              {[]manager{{at(20), `{"f:immutable":{},"f:metadata":{"f:labels":{"f:x":{}}},"f:data":{}}`}}, 20},
		"the newest of several counts":             {[]manager{{at(20), `{"f:data":{}}`}, {at(40), `{"f:data":{}}`}, {at(30), `{"f:data":{}}`}}, 40},
		"labels do not count":                      {[]manager{{at(20), `{"f:data":{}}`}, {at(40), `{"f:metadata":{"f:labels":{"f:a":{}}}}`}}, 20},
		"a label called data does not count":       {[]manager{{at(40), `{"f:metadata":{"f:labels":{"f:data":{},"f:binaryData":{}}}}`}}, 10},
		"a value spelled like the field":           {[]manager{{at(40), `{"f:metadata":"f:data"}`}}, 10},
		"a longer name does not count":             {[]manager{{at(40), `{"f:database":{},"xf:data":{}}`}}, 10},
		"an entry without time":                    {[]manager{{nil, `{"f:data":{}}`}}, 10},
		"an entry without time beside one with":    {[]manager{{nil, `{"f:data":{}}`}, {at(20), `{"f:data":{}}`}}, 20},
		"managers older than the object":           {[]manager{{at(5), `{"f:data":{}}`}}, 10},
		"no fields":                                {[]manager{{at(20), ``}}, 10},
		"a list instead of an object":              {[]manager{{at(20), `["f:data",{"f:data":{}}]`}}, 10},
		"a string instead of an object":            {[]manager{{at(20), `"f:data"`}}, 10},
		"text that is no JSON":                     {[]manager{{at(20), `{"f:metadata":{,"f:data":{}}`}}, 10},
		"text that breaks off":                     {[]manager{{at(20), `{"f:metadata":{"f:data":`}}, 10},
		"damage after the data is seen":            {[]manager{{at(20), `{"f:data":{}`}}, 20},
		"damage in one entry leaves the other one": {[]manager{{at(40), `{{"f:data":`}, {at(20), `{"f:data":{}}`}}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			cm := configMap(nil)
			cm.CreationTimestamp = *at(10)
			for _, m := range tc.managers {
				cm.ManagedFields = append(cm.ManagedFields, metav1.ManagedFieldsEntry{Time: m.time, FieldsV1: metav1.NewFieldsV1(m.fields)})
			}
			got := fromConfigMap(cm)
			if want := at(tc.want).Time; !got.DataTime.Equal(want) {
				t.Errorf("got %v, want %v", got.DataTime, want)
			}
			if want := len(tc.managers) == 0; got.Untracked != want {
				t.Errorf("untracked is %t, want %t", got.Untracked, want)
			}
		})
	}

	t.Run("an entry without a set of fields", func(t *testing.T) {
		cm := configMap(nil)
		cm.CreationTimestamp = *at(10)
		cm.ManagedFields = []metav1.ManagedFieldsEntry{{Time: at(20)}}
		if got, want := fromConfigMap(cm).DataTime, at(10).Time; !got.Equal(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// source_test.FuzzDataTime compares with a reader that understands all of the JSON.
func FuzzDataTime(f *testing.F) {
	for _, seed := range []string{
		`{"f:data":{}}`, `{"f:metadata":{"f:data":{}}}`, `{"a":["f:data",{"f:data":1}],"f:binaryData":null}`,
		`{"a":"\"f:data\":","b":{}}`, `{`, `[]`, `{"f:metadata":{"f:data":{}},"f:data":0}`, "\x00", `{"f:x" "f:data":{}}`,
	} {
		f.Add([]byte(seed))
	}
	created := metav1.NewTime(time.Unix(1_000_000, 0))
	written := metav1.NewTime(time.Unix(2_000_000, 0))
	f.Fuzz(func(t *testing.T, fields []byte) {
		cm := configMap(nil)
		cm.CreationTimestamp = created
		cm.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &written, FieldsV1: metav1.NewFieldsV1(string(fields))}}
		got := fromConfigMap(cm).DataTime

		var all map[string]json.RawMessage
		if json.Unmarshal(fields, &all) != nil || bytes.ContainsRune(fields, '\\') {
			return
		}
		want := created.Time
		if all["f:data"] != nil || all["f:binaryData"] != nil {
			want = written.Time
		}
		if !got.Equal(want) {
			t.Errorf("got %v, want %v for %s", got, want, fields)
		}
	})
}

func TestSourceShowsNoValue(t *testing.T) {
	value := []byte("correct horse battery staple")
	src := source.FromSecret(secret(map[string][]byte{"password": value}), digestKey(t, 1), annotations.DefaultNames())

	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("source", "source", src)
	marshalled, err := json.Marshal(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{
		fmt.Sprintf("%v", src), fmt.Sprintf("%+v", src), fmt.Sprintf("%#v", src), fmt.Sprintf("%x", src.Keys), log.String(), string(marshalled),
	} {
		for _, form := range []string{string(value), hex.EncodeToString(value), base64.StdEncoding.EncodeToString(value), "99 111 114"} {
			if strings.Contains(shown, form) {
				t.Errorf("%q stands in %s", form, shown)
			}
		}
	}
}

// A watch delivers thousands of objects, and the memory for a copy of each
// value would be what decides the size of the pod.
func TestLargeValuesAreNotCopied(t *testing.T) {
	const large = 1 << 20
	text, raw := strings.Repeat("x", large), slices.Repeat([]byte("x"), large)
	key, names := digestKey(t, 1), annotations.DefaultNames()
	for name, read := range map[string]func(){
		"text of a ConfigMap":   func() { source.FromConfigMap(configMap(map[string]string{"a": text}), names) },
		"binary of a ConfigMap": func() { source.FromConfigMap(&corev1.ConfigMap{BinaryData: map[string][]byte{"a": raw}}, names) },
		"value of a Secret":     func() { source.FromSecret(secret(map[string][]byte{"a": raw}), key, names) },
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			read()
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > large/16 {
				t.Errorf("%d bytes allocated for a value of %d", got, large)
			}
		})
	}
}

func BenchmarkFromConfigMap(b *testing.B) {
	many := map[string]string{}
	for i := range 100 {
		many[fmt.Sprintf("key-%d", i)] = strings.Repeat("v", 50)
	}
	managers := []metav1.ManagedFieldsEntry{
		{Time: &metav1.Time{Time: time.Unix(2, 0)}, FieldsV1: metav1.NewFieldsV1(`{"f:data":{".":{},"f:a":{}},"f:metadata":{"f:labels":{"f:app":{}}}}`)},
		{Time: &metav1.Time{Time: time.Unix(3, 0)}, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:data":{}}}}`)},
	}
	small := configMap(map[string]string{"a": "1", "b": "2", "c": "3"})
	small.ManagedFields = managers
	for name, cm := range map[string]*corev1.ConfigMap{
		"3 keys, managed fields": small,
		"100 keys of 50 bytes":   configMap(many),
		"1 MiB of text":          configMap(map[string]string{"a": strings.Repeat("x", 1<<20)}),
		"1 MiB of binary":        {BinaryData: map[string][]byte{"a": slices.Repeat([]byte("x"), 1<<20)}},
	} {
		b.Run(name, func(b *testing.B) {
			names := annotations.DefaultNames()
			b.ReportAllocs()
			for b.Loop() {
				source.FromConfigMap(cm, names)
			}
		})
	}
}

func BenchmarkFromSecret(b *testing.B) {
	key, names := digestKey(b, 1), annotations.DefaultNames()
	for name, s := range map[string]*corev1.Secret{
		"2 keys": secret(map[string][]byte{"user": []byte("me"), "password": []byte("secret")}),
		"1 MiB":  secret(map[string][]byte{"a": slices.Repeat([]byte("x"), 1<<20)}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				source.FromSecret(s, key, names)
			}
		})
	}
}
