package controller

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestWhatIsServedIsAskedForEverMoreSeldom(t *testing.T) {
	asked, body := 0, `{"groups":[{"versions":[{"groupVersion":"apps/v1"}]}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.URL.Path != "/apis" {
			t.Errorf("%s was asked for", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	o := &offers{client: client, clock: clock}
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
	clock.Step(askedSoon - time.Second)
	is(false, 1)
	clock.Step(time.Second)
	is(false, 2)
	err = o.refuse(offered{kind: things.WithKind("Thing")}, apierrors.NewNotFound(schema.GroupResource{}, ""))
	if after, _ := apierrors.SuggestsClientDelay(err); after != 40 {
		t.Errorf("the next answer is due in 40 s, and whoever waits for it is told %d", after)
	}
	clock.Step(askedSoon)
	is(false, 2)
	for i := range 10 {
		clock.Step(askedSeldom)
		is(false, 3+i)
	}
	body = `{"groups":[{"versions":[{"groupVersion":"apps/v1"}]},{"versions":[{"groupVersion":"example.org/v1"}]}]}`
	clock.Step(askedSeldom - time.Second)
	is(false, 12)
	clock.Step(time.Second)
	is(true, 13)
	clock.Step(askedSoon)
	is(true, 14) // what has just come may bring more
	o.forget()
	is(true, 15)
}
