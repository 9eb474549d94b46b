package kubeapi

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
)

// answering is a version that the API server answers with an error, or with a list of its name.
type answering struct {
	name  string
	err   error
	asked *[]string
}

func (a answering) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	*a.asked = append(*a.asked, a.name)
	return nil, a.err
}

func (a answering) List(context.Context, metav1.ListOptions) (runtime.Object, error) {
	*a.asked = append(*a.asked, a.name)
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(a.name)
	return list, a.err
}

func TestTheNewestVersionThatIsServedIsRead(t *testing.T) {
	resource := schema.GroupResource{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}
	absent, forbidden := apierrors.NewNotFound(resource, ""), apierrors.NewForbidden(resource, "", errors.New("no"))
	for about, tc := range map[string]struct {
		newer, older error
		asked        []string
		want         error
	}{
		"both are served":          {nil, nil, []string{"v1"}, nil},
		"the older one is served":  {absent, nil, []string{"v1", "v1beta1"}, nil},
		"none is served":           {absent, absent, []string{"v1", "v1beta1"}, absent},
		"the newer one may not be": {forbidden, nil, []string{"v1"}, forbidden},
		"the older one may not be": {absent, forbidden, []string{"v1", "v1beta1"}, forbidden},
	} {
		var asked []string
		v := versioned{answering{"v1", tc.newer, &asked}, answering{"v1beta1", tc.older, &asked}}
		_, err := v.Watch(t.Context(), metav1.ListOptions{})
		if !errors.Is(err, tc.want) || !slices.Equal(asked, tc.asked) {
			t.Errorf("%s: a watch asks %v: %v", about, asked, err)
		}
		asked = nil
		if _, err := v.List(t.Context(), metav1.ListOptions{}); !errors.Is(err, tc.want) || !slices.Equal(asked, tc.asked) {
			t.Errorf("%s: a list asks %v: %v", about, asked, err)
		}
	}
}

func TestTrustBundlesAreReadInTheVersionsThatExist(t *testing.T) {
	var got []string
	for _, version := range TrustBundleVersions() {
		got = append(got, version.String())
	}
	if want := []string{"certificates.k8s.io/v1, Resource=clustertrustbundles", "certificates.k8s.io/v1beta1, Resource=clustertrustbundles"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if in := trustBundles().In("shop"); in.Namespace != "" {
		t.Errorf("they are read in namespace %s", in.Namespace)
	}
}

func TestOnlyATrustBundleIsReadAsOne(t *testing.T) {
	object := func(apiVersion, kind string, spec map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		o.SetAPIVersion(apiVersion)
		o.SetKind(kind)
		o.SetName("company")
		return o
	}
	const pem = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
	for about, tc := range map[string]struct {
		object runtime.Object
		is     bool
		signer string
		number int
	}{
		"v1":                    {object("certificates.k8s.io/v1", "ClusterTrustBundle", map[string]any{"trustBundle": pem, "signerName": "example.com/a"}), true, "example.com/a", 1},
		"v1beta1":               {object("certificates.k8s.io/v1beta1", "ClusterTrustBundle", map[string]any{"trustBundle": pem}), true, "", 1},
		"of another type":       {object("certificates.k8s.io/v1", "ClusterTrustBundle", map[string]any{"trustBundle": 7, "signerName": []any{}}), true, "", 0},
		"without a spec":        {object("certificates.k8s.io/v1", "ClusterTrustBundle", nil), true, "", 0},
		"another group":         {object("example.com/v1", "ClusterTrustBundle", map[string]any{"trustBundle": pem}), false, "", 0},
		"another kind":          {object("certificates.k8s.io/v1", "CertificateSigningRequest", nil), false, "", 0},
		"a list of the kind":    {&unstructured.UnstructuredList{}, false, "", 0},
		"an object with a type": {&metav1.Status{}, false, "", 0},
	} {
		src, is := readTrustBundle(tc.object, digest.Key{}, annotations.DefaultNames())
		if is != tc.is {
			t.Errorf("%s: read: %t", about, is)
		}
		if is && (src.Bundle.Signer != tc.signer || len(src.Bundle.Certificates) != tc.number || src.Key.Namespace != "") {
			t.Errorf("%s: %+v of %+v", about, src.Bundle, src.Key)
		}
	}
}
