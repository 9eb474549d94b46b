package intake

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// answering returns Secrets as a Resource of a server, and how often that was asked.
func answering(t *testing.T, answer http.HandlerFunc) (Resource, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return secretsIn(client, "ns"), &asked
}

func secretsIn(client kubernetes.Interface, namespace string) Resource {
	return Resource{
		Client: client.CoreV1().RESTClient(), Name: "secrets", Namespace: namespace,
		FieldSelector: "type!=helm.sh/release.v1,type!=bootstrap.kubernetes.io/token",
		NewList:       func() runtime.Object { return &corev1.SecretList{} },
	}
}

// By itself, the client would retry ten times with the delays of the server, and report nothing.
func TestARejectedRequestIsNotRetriedAndReturnsRetryAfter(t *testing.T) {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"message":"busy","details":{"retryAfterSeconds":7}}`
	tests := map[string]http.HandlerFunc{
		"429 of priority and fairness": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
		},
		"429 of a storage that is not ready": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(status))
		},
		"503 of a server that shuts down": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			http.Error(w, "apiserver is shutting down.", http.StatusServiceUnavailable)
		},
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			secrets, asked := answering(t, answer)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // less than one wait
			defer cancel()
			_, err := secrets.Watch(ctx, metav1.ListOptions{})
			if wait := demanded(err); wait != 7*time.Second {
				t.Errorf("a watch is to be tried again after %s; the error is %v", wait, err)
			}
			_, err = secrets.List(ctx, metav1.ListOptions{})
			if wait := demanded(err); wait != 7*time.Second {
				t.Errorf("a list is to be tried again after %s; the error is %v", wait, err)
			}
			if n := asked.Load(); n != 2 {
				t.Errorf("the server was asked %d times for a watch and a list", n)
			}
		})
	}
}

// What the client makes of a connection that breaks before an answer is a watch that is over, and
// no error.
func TestABrokenConnectionIsAnEmptyWatch(t *testing.T) {
	secrets, asked := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = conn.Close()
		}
	})
	w, err := secrets.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := <-w.ResultChan(); ok {
		t.Errorf("it brought %v", e.Type)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestTheOptionsOfRequests(t *testing.T) {
	var got url.Values
	var path string
	secrets, _ := answering(t, func(w http.ResponseWriter, r *http.Request) {
		path, got = r.URL.Path, r.URL.Query()
		http.Error(w, "no", http.StatusTeapot)
	})
	yes, seconds := true, int64(60)
	tests := map[string]struct {
		ask  func() error
		want url.Values
	}{
		"an initial stream": {
			ask: func() error {
				_, err := secrets.Watch(t.Context(), metav1.ListOptions{
					SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true, TimeoutSeconds: &seconds,
				})
				return err
			},
			want: url.Values{
				"watch": {"true"}, "sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}, "allowWatchBookmarks": {"true"},
				"timeoutSeconds": {"60"}, "fieldSelector": {secrets.FieldSelector},
			},
		},
		"a page, which the client does not wait for any longer than the server": {
			ask: func() error {
				_, err := secrets.List(t.Context(), metav1.ListOptions{Limit: 100, Continue: "token", TimeoutSeconds: &seconds})
				return err
			},
			want: url.Values{
				"limit": {"100"}, "continue": {"token"}, "timeoutSeconds": {"60"}, "timeout": {"1m0s"}, "fieldSelector": {secrets.FieldSelector},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := test.ask(); err == nil {
				t.Fatal("no error")
			}
			if path != "/api/v1/namespaces/ns/secrets" {
				t.Errorf("asked %s", path)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("- should be asked, + was:\n%s", diff)
			}
		})
	}
}
