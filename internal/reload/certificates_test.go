package reload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
)

// A workload may use hundreds of TLS Secrets. The same ones are noted each time, because otherwise
// the ledger would be written again and again.
func TestOfManyCertificatesTheFirstToExpireAreNoted(t *testing.T) {
	var f Facts
	for i := range 300 {
		f.Concerns = append(f.Concerns, Concern{Source: source.Source{
			Key: source.Key{Kind: source.Secret, Name: fmt.Sprint("tls-", i)}, Certificate: source.Certificate{NotBefore: 1, NotAfter: int64(1000 - i/2)},
		}})
	}
	next := f.ledger(ledger.Ledger{}, nil)
	if len(next.Certificates) != ledger.MaxCertificates {
		t.Fatalf("%d certificates", len(next.Certificates))
	}
	for i := 300 - ledger.MaxCertificates; i < 300; i++ {
		if _, noted := next.Certificates[fmt.Sprint("tls-", i)]; !noted {
			t.Errorf("tls-%d is not noted", i)
		}
	}
	if again := f.ledger(next, nil); fmt.Sprint(again.Certificates) != fmt.Sprint(next.Certificates) {
		t.Errorf("%v, then %v", next.Certificates, again.Certificates)
	}
	if _, err := ledger.Parse(next.String()); err != nil {
		t.Error(err)
	}
}

func TestOfCertificatesWithLongNamesFewerAreNoted(t *testing.T) {
	var f Facts
	for i := range 12 {
		f.Concerns = append(f.Concerns, Concern{Source: source.Source{
			Key: source.Key{Kind: source.Secret, Name: fmt.Sprintf("tls-%02d-%s", i, strings.Repeat("x", 240))}, Certificate: source.Certificate{NotBefore: 1, NotAfter: int64(1000 + i)},
		}})
	}
	next := f.ledger(ledger.Ledger{}, nil)
	if _, noted := next.Certificates[f.Concerns[7].Source.Key.Name]; !noted || len(next.Certificates) != 8 {
		t.Errorf("%d are noted, with the last of the first eight: %t", len(next.Certificates), noted)
	}
	if again := f.ledger(next, nil); fmt.Sprint(again.Certificates) != fmt.Sprint(next.Certificates) {
		t.Errorf("%v, then %v", next.Certificates, again.Certificates)
	}
}
