package harness

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

func TestPatchIsSentAgainWhenTheServerEndsItsStream(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"}}`))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	must(t, err)
	configMaps := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("shop")
	must(t, despiteEndedStreams(func() error {
		_, err := configMaps.Patch(t.Context(), "web", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
		return err
	}))
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests, not 2", n)
	}
}
