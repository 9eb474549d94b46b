package kubeapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/clientset"
)

// offersOf asks a server, which is closed at the end.
func offersOf(t *testing.T, server *httptest.Server) (*discovery, *clocktesting.FakeClock) {
	t.Helper()
	t.Cleanup(server.Close)
	client, err := clientset.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	return &discovery{client: client, clock: clock}, clock
}

func TestDiscoveryBacksOff(t *testing.T) {
	asked, body := 0, `{"groups":[{"versions":[{"groupVersion":"apps/v1"}]}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.URL.Path != "/apis" {
			t.Errorf("%s was asked for", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}))
	o, clock := offersOf(t, server)
	things := schema.GroupVersion{Group: "example.org", Version: "v1"}
	is := func(want bool, requests int) {
		t.Helper()
		for range 5 { // kinds
			if got, err := o.serves(t.Context(), things); err != nil || got != want {
				t.Errorf("served: %v, error %v; must be %v", got, err, want)
			}
		}
		if asked != requests {
			t.Errorf("asked %d times, must be %d", asked, requests)
		}
	}
	is(false, 1)
	clock.Step(recheckSoon - time.Second)
	is(false, 1)
	clock.Step(time.Second)
	is(false, 2)
	err := o.refuse(servedKind{kind: things.WithKind("Thing")}, apierrors.NewNotFound(schema.GroupResource{}, ""))
	if after, _ := apierrors.SuggestsClientDelay(err); after != 40 {
		t.Errorf("the next answer is due in 40 s, and whoever waits for it is told %d", after)
	}
	clock.Step(recheckSoon)
	is(false, 2)
	for i := range 10 {
		clock.Step(recheckSeldom)
		is(false, 3+i)
	}
	body = `{"groups":[{"versions":[{"groupVersion":"apps/v1"}]},{"versions":[{"groupVersion":"example.org/v1"}]}]}`
	clock.Step(recheckSeldom - time.Second)
	is(false, 12)
	clock.Step(time.Second)
	is(true, 13)
	clock.Step(recheckSoon)
	is(true, 14) // what has just come may bring more
	o.forget()
	is(true, 15)
}

// A request may hang. Who noted something, or asks for what was answered before, must not wait for
// it.
func TestCallersUseTheCacheDuringDiscovery(t *testing.T) {
	hang, asked := make(chan struct{}), make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-hang
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"groups":[{"versions":[{"groupVersion":"apps/v1"}]}]}`))
	}))
	o, clock := offersOf(t, server)
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	answers := make(chan bool, 10)
	ask := func() {
		is, err := o.serves(t.Context(), apps)
		if err != nil {
			t.Error(err)
		}
		answers <- is
	}

	// Before the first answer all wait for one request.
	go ask()
	<-asked
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := o.serves(ended, apps); !errors.Is(err, context.Canceled) {
		t.Errorf("who does not want to wait any more gets error %v", err)
	}
	go ask()
	_ = o.refuse(servedKind{kind: apps.WithKind("Thing")}, apierrors.NewNotFound(schema.GroupResource{}, ""))
	hang <- struct{}{}
	for range 2 {
		if !<-answers {
			t.Error("what is served is said not to be")
		}
	}

	// After it they go by that.
	clock.Step(recheckSoon)
	go ask()
	<-asked
	if is, err := o.serves(t.Context(), apps); !is || err != nil {
		t.Errorf("while somebody asks again, it is served: %v, error %v", is, err)
	}
	// A response that was invalidated during the request is requested again.
	o.forget()
	hang <- struct{}{}
	<-asked
	hang <- struct{}{}
	<-answers
	if n := len(asked); n != 0 {
		t.Errorf("%d requests too many", n)
	}
}
