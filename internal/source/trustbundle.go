package source

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/pem"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
)

// TrustBundle is what is kept of a ClusterTrustBundle in addition to its Source, so that bundles can
// be united.
type TrustBundle struct {
	// Signer is the name of its signer; empty without one.
	Signer string
	Labels labels.Set
	// Certificates are the digests of its certificates, sorted, each once.
	Certificates []digest.Digest
	// Written is the latest time at which anything of the object was written, its labels included.
	Written time.Time
}

// FromTrustBundle reads a ClusterTrustBundle. The result shares no memory with the PEM text.
//
// Its digest is that of the set of certificates. A kubelet drops what is between them and repeated
// ones, and writes them in an order of its own. So another order or comment is no change for a Pod.
func FromTrustBundle(meta *metav1.ObjectMeta, signer, text string, names annotations.Names) Source {
	src := fromMeta(ClusterTrustBundle, meta, names)
	src.Key.Namespace = ""
	b := &TrustBundle{
		Signer: strings.Clone(signer), Labels: maps.Clone(meta.Labels), Certificates: certificatesIn(text), Written: meta.CreationTimestamp.Time,
	}
	for i := range meta.ManagedFields {
		if at := meta.ManagedFields[i].Time; at != nil && at.After(b.Written) {
			b.Written = at.Time
		}
	}
	src.Bundle = b
	src.setCertificates(b.Certificates)
	src.Keys = []digest.KeyDigest{{Name: "trustBundle", Sum: [8]byte(src.Digest[:])}}
	return src
}

// certificatesIn returns the digests of the certificates in a PEM text. The API server accepts only
// certificates. A text without any counts as one.
func certificatesIn(text string) []digest.Digest {
	var found []digest.Digest
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		found = append(found, certificateDigest(block.Type, block.Bytes))
	}
	if len(found) == 0 && text != "" {
		found = append(found, certificateDigest("", []byte(text)))
	}
	return sortedOnce(found)
}

func certificateDigest(kind string, der []byte) digest.Digest {
	e := digest.NewEncoder(sha256.New())
	e.Begin('c')
	e.Text(kind)
	e.Write(der)
	return digest.Digest(e.Sum(nil)[:len(digest.Digest{})])
}

func sortedOnce(all []digest.Digest) []digest.Digest {
	slices.SortFunc(all, func(a, b digest.Digest) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(all)
}

// setCertificates sets the digest of a sorted set of certificates. Reloader knows no such source, so
// its sum only has to follow from the digest.
func (s *Source) setCertificates(all []digest.Digest) {
	e := digest.NewEncoder(sha256.New())
	e.Begin('b')
	for i := range all {
		e.Write(all[i][:])
	}
	s.Digest = digest.Digest(e.Sum(nil)[:len(digest.Digest{})])
	s.Reloader = sha1.Sum(s.Digest[:])
}
