package gitops

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/reroll-dev/reroll/test/harness"
)

// flux stands for the source-controller: it serves what Git would hold, and says so in a
// GitRepository. The kustomize-controller applies it, and tells of drift nowhere but in its log.
func flux() tool {
	return func(p *place) deployer {
		p.Helper()
		p.must(p.flux())
		f := &fluxUser{place: p}
		server := httptest.NewServer(f)
		p.Cleanup(server.Close)
		f.url = server.URL + "/artifact.tar.gz"
		f.make(f.repositories(), map[string]any{
			"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": map[string]any{"name": "web"},
			"spec": map[string]any{"url": "https://git.example/web.git", "interval": "1h"},
		})
		f.make(f.kustomizations(), map[string]any{
			"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": map[string]any{"name": "web"},
			"spec": map[string]any{
				"sourceRef": map[string]any{"kind": "GitRepository", "name": "web"}, "path": "./", "interval": "1h",
				"prune": true, "targetNamespace": p.ns.Name,
			},
		})
		return f
	}
}

type fluxUser struct {
	*place
	url   string
	asked int

	mu       sync.Mutex
	artifact []byte
}

func (f *fluxUser) repositories() dynamic.ResourceInterface {
	kind := schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
	return f.objects.Resource(kind).Namespace(f.ns.Name)
}

func (f *fluxUser) kustomizations() dynamic.ResourceInterface {
	kind := schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	return f.objects.Resource(kind).Namespace(f.ns.Name)
}

func (f *fluxUser) make(in dynamic.ResourceInterface, object map[string]any) {
	f.Helper()
	_, err := in.Create(f.ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	f.must(err)
}

// ServeHTTP gives the artifact away.
func (f *fluxUser) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = w.Write(f.artifact)
}

func (f *fluxUser) apply(manifest string) error {
	f.Helper()
	artifact := archive(f.place, "all.yaml", f.here(manifest))
	f.mu.Lock()
	f.artifact = artifact
	f.mu.Unlock()
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(artifact))
	revision := "main@" + digest
	f.patch(f.repositories(), map[string]any{"status": map[string]any{
		"observedGeneration": 1,
		"artifact": map[string]any{
			"url": f.url, "path": "artifact.tar.gz", "revision": revision, "digest": digest,
			"lastUpdateTime": time.Now().UTC().Format(time.RFC3339),
		},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored",
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		}},
	}}, "status")
	f.asked++
	asked := strconv.Itoa(f.asked)
	f.patch(f.kustomizations(), map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"reconcile.fluxcd.io/requestedAt": asked},
	}})
	f.must(harness.Await(f.ctx, "Flux to apply "+revision, func(ctx context.Context) error {
		obj, err := f.kustomizations().Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		var seen struct {
			Status struct {
				LastHandledReconcileAt string             `json:"lastHandledReconcileAt"`
				LastAppliedRevision    string             `json:"lastAppliedRevision"`
				Conditions             []metav1.Condition `json:"conditions"`
			} `json:"status"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &seen); err != nil {
			return err
		}
		if s := seen.Status; s.LastHandledReconcileAt != asked || s.LastAppliedRevision != revision {
			return fmt.Errorf("it has done that up to the request %q and %q: %v", s.LastHandledReconcileAt, s.LastAppliedRevision, s.Conditions)
		}
		return nil
	}))
	return nil
}

func (f *fluxUser) patch(in dynamic.ResourceInterface, change map[string]any, subresources ...string) {
	f.Helper()
	body, err := json.Marshal(change)
	f.must(err)
	_, err = in.Patch(f.ctx, "web", types.MergePatchType, body, metav1.PatchOptions{FieldManager: "source-controller"}, subresources...)
	f.must(err)
}

func archive(p *place, name, text string) []byte {
	p.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	p.must(files.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), ModTime: time.Unix(0, 0)}))
	_, err := files.Write([]byte(text))
	p.must(errors.Join(err, files.Close(), zipped.Close()))
	return out.Bytes()
}
