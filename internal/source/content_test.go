package source_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

// The values were computed by another program. Were they to change without a
// new format, an upgrade would find every source changed.
func TestDigestFormatStaysTheSame(t *testing.T) {
	data := map[string]string{"key": "value"}
	for name, tc := range map[string]struct {
		src  source.Source
		want string
		keys string
	}{
		"empty ConfigMap": {
			src:  fromConfigMap(configMap(nil)),
			want: "2bea2eb58661587e61dde1cf8f02a973",
		},
		"ConfigMap": {
			src:  fromConfigMap(configMap(data)),
			want: "526158248543d1c7d870b0555197bc06",
			keys: " key=592c601fbee2e932",
		},
		"ConfigMap with binary data": {
			src:  fromConfigMap(&corev1.ConfigMap{Data: map[string]string{"a": "1"}, BinaryData: map[string][]byte{"b": []byte("2")}}),
			want: "200d343a4bcf298086e191f2abfdec63",
			keys: " a=b061e9bdef345a81 b=e23d27d6d21bef26",
		},
		"Secret": {
			src:  source.FromSecret(secret(map[string][]byte{"key": []byte("value")}), digestKey(t, 1), annotations.DefaultNames()),
			want: "1b2d1b5a2ba86a07a4f26e50a30a0002",
			keys: " key=acd43a32dcff941f",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.src.Digest.String(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			keys := ""
			for _, key := range tc.src.Keys {
				keys += fmt.Sprintf(" %s=%x", key.Name, key.Sum)
			}
			if keys != tc.keys {
				t.Errorf("keys: got %q, want %q", keys, tc.keys)
			}
		})
	}
}

func TestDigestsOfDifferentDataDiffer(t *testing.T) {
	binary := func(data map[string][]byte) *corev1.ConfigMap { return &corev1.ConfigMap{BinaryData: data} }
	for name, pair := range map[string][2]*corev1.ConfigMap{
		"a value with separators is not two values": {
			configMap(map[string]string{"a": "1;b=2"}), configMap(map[string]string{"a": "1", "b": "2"}),
		},
		"a letter that moves from key to value": {
			configMap(map[string]string{"ab": "c"}), configMap(map[string]string{"a": "bc"}),
		},
		"values that changed places": {
			configMap(map[string]string{"a": "1", "b": "2"}), configMap(map[string]string{"a": "2", "b": "1"}),
		},
		"an empty value is not a missing key": {
			configMap(map[string]string{"a": ""}), configMap(nil),
		},
		"text is not binary": {
			configMap(map[string]string{"a": "1"}), binary(map[string][]byte{"a": []byte("1")}),
		},
		"text that spells the binary value": {
			configMap(map[string]string{"a": "MQ=="}), binary(map[string][]byte{"a": []byte("1")}),
		},
		"trailing newline": {
			configMap(map[string]string{"a": "1"}), configMap(map[string]string{"a": "1\n"}),
		},
		"values around the size of the buffer": {
			configMap(map[string]string{"a": strings.Repeat("x", 1024)}), configMap(map[string]string{"a": strings.Repeat("x", 1025)}),
		},
		"the last byte of a large value": {
			configMap(map[string]string{"a": strings.Repeat("x", 5000) + "y"}), configMap(map[string]string{"a": strings.Repeat("x", 5000) + "z"}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if a, b := fromConfigMap(pair[0]), fromConfigMap(pair[1]); a.Digest == b.Digest {
				t.Errorf("both are %s", a.Digest)
			}
		})
	}
}

func TestDigestOverlooksAllButContent(t *testing.T) {
	of := func(change func(*corev1.ConfigMap)) digest.Digest {
		cm := configMap(map[string]string{"a": "1", "b": "2"})
		change(cm)
		return fromConfigMap(cm).Digest
	}
	want := of(func(*corev1.ConfigMap) {})
	for name, change := range map[string]func(*corev1.ConfigMap){
		"labels":                          func(cm *corev1.ConfigMap) { cm.Labels = map[string]string{"x": "y"} },
		"annotations":                     func(cm *corev1.ConfigMap) { cm.Annotations = map[string]string{"x": "y"} },
		"deleted and created again":       func(cm *corev1.ConfigMap) { cm.UID, cm.ResourceVersion = "other", "99" },
		"immutable":                       func(cm *corev1.ConfigMap) { cm.Immutable = new(bool) },
		"binary data that is empty":       func(cm *corev1.ConfigMap) { cm.BinaryData = map[string][]byte{} },
		"the same keys put in backwards":  func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"b": "2", "a": "1"} },
		"the same content, another place": func(cm *corev1.ConfigMap) { cm.Namespace, cm.Name = "other", "other" },
	} {
		if got := of(change); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestSecretDigestIsWorthNothingWithoutItsKey(t *testing.T) {
	data := map[string][]byte{"password": []byte("hunter2")}
	names := annotations.DefaultNames()
	key := digestKey(t, 1)
	base := source.FromSecret(secret(data), key, names)

	moved := func(namespace, name string) source.Source {
		s := secret(data)
		s.Namespace, s.Name = namespace, name
		return source.FromSecret(s, key, names)
	}
	for name, other := range map[string]source.Source{
		"another key":                          source.FromSecret(secret(data), digestKey(t, 2), names),
		"no key":                               source.FromSecret(secret(data), digest.Key{}, names),
		"a ConfigMap of the same content":      fromConfigMap(configMap(map[string]string{"password": "hunter2"})),
		"equal content under another name":     moved("shop", "guess"),
		"equal content in another namespace":   moved("attic", "web"),
		"a name that borrows of the namespace": moved("sho", "pweb"),
	} {
		if other.Digest == base.Digest {
			t.Errorf("%s: the digest is the same", name)
		}
		if other.Keys[0].Sum == base.Keys[0].Sum {
			t.Errorf("%s: the digest of the key is the same", name)
		}
	}

	again := secret(data)
	again.UID = "another"
	if got := source.FromSecret(again, digestKey(t, 1), names); got.Digest != base.Digest {
		t.Errorf("created again with the same content: got %s, want %s", got.Digest, base.Digest)
	}
}

func TestReloaderSum(t *testing.T) {
	asSecret := func(data map[string][]byte) source.Source {
		return source.FromSecret(secret(data), digestKey(t, 1).Showing(digest.SecretMarksSHA1), annotations.DefaultNames())
	}
	for name, tc := range map[string]struct {
		src  source.Source
		want string
	}{
		"nothing":    {fromConfigMap(configMap(nil)), "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
		"one key":    {fromConfigMap(configMap(map[string]string{"key": "value"})), "dc30e0faa89a70dec1033016a2309bbeb9efcbd0"},
		"two keys":   {fromConfigMap(configMap(map[string]string{"a": "1", "b": "2"})), "f83e99e324ba68ccc373a58ef1eb42f8ab88646a"},
		"the clash":  {fromConfigMap(configMap(map[string]string{"a": "1;b=2"})), "f83e99e324ba68ccc373a58ef1eb42f8ab88646a"},
		"one secret": {asSecret(map[string][]byte{"key": []byte("value")}), "dc30e0faa89a70dec1033016a2309bbeb9efcbd0"},
		"no secret":  {asSecret(nil), "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
		"keys that begin alike, and binary data": {
			fromConfigMap(&corev1.ConfigMap{
				Data:       map[string]string{"a": "3", "a-b": "1", "a.b": "2", "a0": ""},
				BinaryData: map[string][]byte{"z": {0x00, 0xff}},
			}),
			"84b47b536d5fc0865c234fddf2efdc471fe5dd45",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hex.EncodeToString(tc.src.Reloader[:]); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// source_test.FuzzContent compares with plain ways to say the same, which copy a lot.
func FuzzContent(f *testing.F) {
	f.Add([]byte("a\x001\x00b\x002"), []byte("a\x001;b=2"))
	f.Add([]byte("a\x001"), []byte("a\x001"))
	f.Add([]byte("\x80bin\x00\xff"), []byte("bin\x00\xff"))
	f.Add([]byte("a\x001\x00a-b\x002\x00a0\x003\x00\x81z"), []byte(""))
	f.Fuzz(func(t *testing.T, left, right []byte) {
		a, b := contentOf(left), contentOf(right)
		for _, cm := range []*corev1.ConfigMap{a, b} {
			src := fromConfigMap(cm)
			if got, want := src.Reloader, plainReloaderSum(cm); got != want {
				t.Errorf("sum of %v %v: got %x, want %x", cm.Data, cm.BinaryData, got, want)
			}
			if len(src.Keys) != len(cm.Data)+len(cm.BinaryData) || !slices.IsSortedFunc(src.Keys, func(x, y digest.KeyDigest) int { return strings.Compare(x.Name, y.Name) }) {
				t.Errorf("keys of %v %v: %v", cm.Data, cm.BinaryData, src.Keys)
			}
		}

		same := maps.Equal(a.Data, b.Data) && maps.EqualFunc(a.BinaryData, b.BinaryData, bytes.Equal)
		was, is := fromConfigMap(a), fromConfigMap(b)
		if same != (was.Digest == is.Digest) {
			t.Errorf("content equal: %v, digests %s and %s", same, was.Digest, is.Digest)
		}
		if same != slices.Equal(was.Keys, is.Keys) {
			t.Errorf("content equal: %v, but keys %v and %v", same, was.Keys, is.Keys)
		}
	})
}

// contentOf takes keys and values in turn. The first byte of a key selects the field; the other
// bytes become valid characters of keys.
func contentOf(text []byte) *corev1.ConfigMap {
	const allowed = "-._0aAbz"
	cm := &corev1.ConfigMap{Data: map[string]string{}, BinaryData: map[string][]byte{}}
	parts := bytes.Split(text, []byte{0})
	for i := 0; i+1 < len(parts); i += 2 {
		key, value := parts[i], parts[i+1]
		if len(key) == 0 {
			continue
		}
		name := ""
		for _, c := range key {
			name += string(allowed[int(c)%len(allowed)])
		}
		delete(cm.Data, name)
		delete(cm.BinaryData, name)
		if key[0]&0x80 != 0 {
			cm.BinaryData[name] = value
		} else {
			cm.Data[name] = string(value)
		}
	}
	return cm
}

func plainReloaderSum(cm *corev1.ConfigMap) [sha1.Size]byte {
	var all []string
	for key, value := range cm.Data {
		all = append(all, key+"="+value)
	}
	for key, value := range cm.BinaryData {
		all = append(all, key+"="+base64.StdEncoding.EncodeToString(value))
	}
	slices.Sort(all)
	return sha1.Sum([]byte(strings.Join(all, ";")))
}

func TestDigestText(t *testing.T) {
	want := digest.Digest{0xab, 1}
	text, err := want.MarshalText()
	if err != nil || string(text) != want.String() || string(text) != "ab010000000000000000000000000000" {
		t.Fatalf("got %s and %s, %v", text, want, err)
	}
	var got digest.Digest
	if err := got.UnmarshalText(text); err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
	if got.IsZero() || !(digest.Digest{}).IsZero() {
		t.Error("only the digest that was never computed is zero")
	}

	for name, text := range map[string]string{
		"empty":                   "",
		"too short":               strings.Repeat("a", 31),
		"too long by a digit":     strings.Repeat("a", 33),
		"too long by a byte":      strings.Repeat("a", 34),
		"no digits":               strings.Repeat("x", 32),
		"damage in the last byte": strings.Repeat("0", 31) + "g",
	} {
		t.Run(name, func(t *testing.T) {
			got := want
			if err := got.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "32 hexadecimal digits") {
				t.Errorf("got error %v", err)
			}
			if got != want {
				t.Errorf("the digest became %s", got)
			}
		})
	}
}
