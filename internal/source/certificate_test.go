package source_test

import (
	"bytes"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/test/certificates"
)

func day(n int) time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

func certificate(tb testing.TB, from, until time.Time) string {
	tb.Helper()
	text, _, err := certificates.Make(from, until)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// withEnd replaces the end of a certificate, whose signature is wrong then.
func withEnd(tb testing.TB, text, end string) string {
	tb.Helper()
	block, _ := pem.Decode([]byte(text))
	var parts, body, validity []asn1.RawValue
	for _, into := range []struct {
		der   func() []byte
		parts *[]asn1.RawValue
	}{
		{func() []byte { return block.Bytes }, &parts},
		{func() []byte { return parts[0].FullBytes }, &body},
		{func() []byte { return body[4].FullBytes }, &validity},
	} {
		if _, err := asn1.Unmarshal(into.der(), into.parts); err != nil {
			tb.Fatal(err)
		}
	}
	encode := func(value any) []byte {
		der, err := asn1.Marshal(value)
		if err != nil {
			tb.Fatal(err)
		}
		return der
	}
	validity[1] = asn1.RawValue{FullBytes: encode(asn1.RawValue{Tag: asn1.TagGeneralizedTime, Bytes: []byte(end)})}
	body[4] = asn1.RawValue{FullBytes: encode(validity)}
	parts[0] = asn1.RawValue{FullBytes: encode(body)}
	return string(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: encode(parts)}))
}

func tlsSecret(text string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": []byte(text)}}
}

func TestTheCertificateThatExpiresFirst(t *testing.T) {
	leaf, intermediate := certificate(t, day(0), day(90)), certificate(t, day(-300), day(60))
	_, key, err := certificates.Make(day(0), day(1))
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(leaf, "MII", "MIX", 1)
	if broken == leaf {
		broken = leaf[:40] + "####" + leaf[44:]
	}
	for about, tc := range map[string]struct {
		text string
		want source.Certificate
	}{
		"one":                                {leaf, between(day(0), day(90))},
		"text around it":                     {"web\n" + leaf + "# end", between(day(0), day(90))},
		"a chain":                            {leaf + intermediate, between(day(-300), day(60))},
		"a chain in another order":           {intermediate + leaf, between(day(-300), day(60))},
		"its key beside it":                  {string(key) + leaf, between(day(0), day(90))},
		"a broken one beside it":             {broken + leaf, between(day(0), day(90))},
		"one that expired before the first":  {leaf + certificate(t, day(-900), day(-1)), between(day(0), day(90))},
		"the first one has expired":          {certificate(t, day(-900), day(-1)) + leaf, between(day(-900), day(-1))},
		"before 1970":                        {certificate(t, time.Date(1955, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)), source.Certificate{NotAfter: 1}},
		"no well-defined end":                {certificate(t, day(0), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)), source.Certificate{NotBefore: day(0).Unix(), NotAfter: 253402300799}},
		"an end in a time zone":              {withEnd(t, leaf, "99991231235959-1200"), source.Certificate{NotBefore: day(0).Unix(), NotAfter: 253402300799}},
		"it ends before it begins":           {certificate(t, day(9), day(1)), between(day(9), day(1))},
		"nothing":                            {"", source.Certificate{}},
		"no PEM":                             {"certificate", source.Certificate{}},
		"a key alone":                        {string(key), source.Certificate{}},
		"an end without a beginning":         {"-----END CERTIFICATE-----\n", source.Certificate{}},
		"a block that breaks off":            {leaf[:len(leaf)-30], source.Certificate{}},
		"a block without data":               {"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", source.Certificate{}},
		"a block with other data":            {"-----BEGIN CERTIFICATE-----\n" + base64.StdEncoding.EncodeToString([]byte("hunter2")) + "\n-----END CERTIFICATE-----\n", source.Certificate{}},
		"certificates after too many others": {strings.Repeat(string(key), 10) + leaf, source.Certificate{}},
		"certificates after too much text":   {strings.Repeat("#", 64<<10) + leaf, source.Certificate{}},
	} {
		if got := source.FromSecret(tlsSecret(tc.text), digestKey(t, 1), annotations.DefaultNames()).Certificate; got != tc.want {
			t.Errorf("%s: %+v, want %+v", about, got, tc.want)
		}
	}
}

func between(from, until time.Time) source.Certificate {
	return source.Certificate{NotBefore: from.Unix(), NotAfter: until.Unix()}
}

func TestOnlyTLSSecretsHaveACertificate(t *testing.T) {
	s := tlsSecret(certificate(t, day(0), day(90)))
	s.Type = corev1.SecretTypeOpaque
	if got := source.FromSecret(s, digestKey(t, 1), annotations.DefaultNames()).Certificate; !got.IsZero() {
		t.Errorf("an opaque Secret: %+v", got)
	}
	s.Type, s.Data = corev1.SecretTypeTLS, nil
	if got := source.FromSecret(s, digestKey(t, 1), annotations.DefaultNames()).Certificate; !got.IsZero() {
		t.Errorf("no data: %+v", got)
	}
}

func FuzzCertificate(f *testing.F) {
	f.Add(certificate(f, day(0), day(90)) + certificate(f, day(-300), day(60)))
	f.Add("-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n")
	f.Add("-----BEGIN ")
	f.Fuzz(func(t *testing.T, text string) {
		c := source.FromSecret(tlsSecret(text), digest.Key{}, annotations.DefaultNames()).Certificate
		if c.NotBefore < 0 || c.NotAfter < 0 || c.NotBefore > 253402300799 || c.NotAfter > 253402300799 {
			t.Errorf("%+v", c)
		}
	})
}

// The texts are what a user may write to make the work for one Secret as large as possible.
func costly(tb testing.TB) map[string]string {
	tb.Helper()
	const most = 1 << 20
	leaf := certificate(tb, day(0), day(90))
	random := make([]byte, most*3/4)
	for i := range random {
		random[i] = byte(rand.IntN(256))
	}
	return map[string]string{
		"certificates":          strings.Repeat(leaf, most/len(leaf)),
		"beginnings":            strings.Repeat("-----BEGIN CERTIFICATE-----\n", most/28),
		"beginnings of lines":   strings.Repeat("\n-----BEGIN ", most/12),
		"empty blocks":          strings.Repeat("-----BEGIN A-----\n-----END A-----\n", most/34),
		"headers":               "-----BEGIN CERTIFICATE-----\n" + strings.Repeat("a: b\n", most/5-20),
		"one large block":       "-----BEGIN CERTIFICATE-----\n" + base64.StdEncoding.EncodeToString(random)[:most-64] + "\n-----END CERTIFICATE-----\n",
		"sequences in sequence": "-----BEGIN CERTIFICATE-----\n" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0x30, 0x80}, 20<<10)) + "\n-----END CERTIFICATE-----\n",
		"no PEM":                strings.Repeat("x", most),
	}
}

func BenchmarkCertificateOfASecret(b *testing.B) {
	for about, text := range costly(b) {
		text += strings.Repeat("x", max(0, 1<<20-len(text)))
		for _, kind := range []corev1.SecretType{corev1.SecretTypeOpaque, corev1.SecretTypeTLS} {
			b.Run(fmt.Sprint(about, "/", kind), func(b *testing.B) {
				s := tlsSecret(text)
				s.Type = kind
				for b.Loop() {
					source.FromSecret(s, digest.Key{}, annotations.DefaultNames())
				}
			})
		}
	}
	b.Run("of usual size/kubernetes.io/tls", func(b *testing.B) {
		s := tlsSecret(certificate(b, day(0), day(90)))
		for b.Loop() {
			source.FromSecret(s, digest.Key{}, annotations.DefaultNames())
		}
	})
}
