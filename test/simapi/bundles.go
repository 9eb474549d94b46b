package simapi

import (
	"encoding/pem"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// BundleResource is that of ClusterTrustBundles, which are in no namespace.
const BundleResource = "clustertrustbundles"

const (
	bundleGroup = "certificates.k8s.io"
	bundleKind  = "ClusterTrustBundle"
)

// NewBundle returns a ClusterTrustBundle of a signer; of none if that is empty.
func NewBundle(name, signer string, certificates []string) Object {
	bundle := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": bundleGroup + "/v1beta1", "kind": bundleKind, "spec": map[string]any{},
	}}
	bundle.SetName(name)
	if signer != "" {
		_ = unstructured.SetNestedField(bundle.Object, signer, "spec", "signerName")
	}
	SetCertificates(bundle, certificates)
	return bundle
}

// SetCertificates replaces the certificates of a bundle, in this order.
func SetCertificates(bundle Object, certificates []string) {
	var text strings.Builder
	for _, c := range certificates {
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: []byte(c)}) // a Builder takes all
	}
	_ = unstructured.SetNestedField(bundle.(*unstructured.Unstructured).Object, text.String(), "spec", "trustBundle")
}

func bundleField(bundle Object, name string) string {
	value, _, _ := unstructured.NestedString(bundle.(*unstructured.Unstructured).Object, "spec", name)
	return value
}

func bundleFields(bundle Object) map[string]string {
	fields := map[string]string{"spec/trustBundle": bundleField(bundle, "trustBundle")}
	if signer := bundleField(bundle, "signerName"); signer != "" {
		fields["spec/signerName"] = signer
	}
	return fields
}

func projections(volume *corev1.Volume) []corev1.VolumeProjection {
	if volume.Projected == nil {
		return nil
	}
	return volume.Projected.Sources
}

// trusted is a bundle, or all that a volume selects: the signer with the selector in braces.
func trusted(part *corev1.ClusterTrustBundleProjection) Source {
	if part.Name != nil {
		return Source{BundleResource, *part.Name}
	}
	return Source{BundleResource, *part.SignerName + "{" + metav1.FormatLabelSelector(part.LabelSelector) + "}"}
}

// written is what a kubelet writes of a source.
type written struct {
	content string
	exists  bool
}

// certificates are those that a kubelet writes. They are asked for at each step of each Pod that
// waits, and collected once between two writes of bundles.
func (s *Server) certificates(src Source) (content string, exists bool) {
	known, ok := s.collected[src]
	if !ok {
		known.content, known.exists = s.collect(src)
		if s.collected == nil {
			s.collected = map[Source]written{}
		}
		s.collected[src] = known
	}
	return known.content, known.exists
}

// forget is called when objects of a resource change.
func (s *Server) forget(resource string) {
	if resource == BundleResource {
		clear(s.collected)
	}
}

// collect takes each certificate once, in an order that is the kubelet's own.
func (s *Server) collect(src Source) (content string, exists bool) {
	signer, selector, several := strings.Cut(strings.TrimSuffix(src.Name, "}"), "{")
	if selector == "<none>" {
		selector = ""
	}
	wanted, _ := labels.Parse(selector)
	var found []string
	for _, bundle := range s.List(BundleResource) {
		if !several && bundle.GetName() != src.Name || several && (bundleField(bundle, "signerName") != signer || !wanted.Matches(labels.Set(bundle.GetLabels()))) {
			continue
		}
		exists = true
		for rest := []byte(bundleField(bundle, "trustBundle")); len(rest) > 0; {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			found = append(found, string(block.Bytes))
		}
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), " "), exists
}
