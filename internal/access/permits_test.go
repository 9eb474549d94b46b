package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// reader signs a user in, for a session.
func (s *stage) reader(name string) Reader {
	s.Helper()
	s.user("token-"+name, name)
	id, err := s.readers.accept(s.Context(), "token-"+name)
	if err == nil {
		_, err = s.readers.start(id)
	}
	if err != nil {
		s.Fatal(err)
	}
	return Reader{id: id, permits: s.readers.permits}
}

func TestWhatAReaderMayRead(t *testing.T) {
	s := newStage(t)
	s.may["ada shop/deployments"], s.may["root /secrets"] = true, true
	s.may["root kube-system/pods"], s.denied["root kube-system/pods"] = true, true
	ada, root := s.reader("ada"), s.reader("root")
	for _, c := range []struct {
		reader              Reader
		namespace, resource string
		want                bool
	}{
		{ada, "shop", "deployments.apps", true},
		{ada, "shop", "secrets", false},
		{ada, "", "deployments.apps", false},
		{ada, "bank", "deployments.apps", false},
		{ada, "Not_A_Name/../shop", "deployments.apps", false},
		{root, "shop", "secrets", true},
		{root, "bank", "secrets", true},
		{root, "", "secrets", true},
		{root, "kube-system", "pods", false},
		{root, "shop", "", false},
	} {
		if got := c.reader.MayRead(t.Context(), c.namespace, c.resource); got != c.want {
			t.Errorf("%s may read %s of %q: %v", c.reader.Name(), c.resource, c.namespace, got)
		}
	}
	if n := s.asked["root shop/secrets"]; n != 0 {
		t.Errorf("asked about a namespace %d times, although all namespaces are allowed", n)
	}
	for question := range s.asked {
		if question == "ada Not_A_Name/../shop/deployments" {
			t.Error("asked about a namespace that cannot exist")
		}
	}
}

func TestTheReviewHasTheGroupsOfTheUser(t *testing.T) {
	s := newStage(t)
	s.users["good"] = authenticationv1.UserInfo{
		Username: "ada", UID: "1", Groups: []string{"dev", "ops"}, Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a", "b"}},
	}
	id, err := s.readers.accept(t.Context(), "good")
	if err != nil {
		t.Fatal(err)
	}
	Reader{id: id, permits: s.readers.permits}.MayRead(t.Context(), "", "deployments.apps")
	got := s.lastSubjects
	of := got.ResourceAttributes
	if got.User != "ada" || got.UID != "1" || !slices.Equal(got.Groups, []string{"dev", "ops"}) || !slices.Equal(got.Extra["scopes"], []string{"a", "b"}) ||
		of.Verb != "list" || of.Group != "apps" || of.Resource != "deployments" {
		t.Errorf("asked %+v about %+v", got, of)
	}
}

func TestAnswersAreKeptForSeconds(t *testing.T) {
	s := newStage(t)
	ada := s.reader("ada")
	key := "ada /pods"
	may := func() bool { return ada.MayRead(t.Context(), "", "pods") }
	for _, step := range []struct {
		about string
		do    func()
		want  bool
		asked int
	}{
		{"denied", func() {}, false, 1},
		{"allowed meanwhile", func() { s.set(func() { s.may[key] = true }) }, false, 1},
		{"after half a minute", func() { s.clock.Step(deniedFor) }, true, 2},
		{"denied meanwhile", func() { s.set(func() { s.may[key] = false }) }, true, 2},
		{"after ten seconds", func() { s.clock.Step(allowedFor) }, false, 3},
		{"without an answer", func() {
			s.set(func() { s.may[key], s.down = true, errors.New("down") })
			s.clock.Step(deniedFor)
		}, false, 4},
		{"at once", func() { s.set(func() { s.down = nil }) }, false, 4},
		{"after a second", func() { s.clock.Step(failedFor) }, true, 5},
	} {
		step.do()
		if got := may(); got != step.want || s.asked[key] != step.asked {
			t.Errorf("%s: %v after %d reviews, want %v after %d", step.about, got, s.asked[key], step.want, step.asked)
		}
	}
}

func TestOneReviewAnswersAllWhoAskAtOnce(t *testing.T) {
	s := newStage(t)
	ada := s.reader("ada")
	s.may["ada /pods"] = true
	hold := make(chan struct{})
	s.slow = func() { <-hold }
	first, giveUp := context.WithCancel(t.Context())
	gone := make(chan bool)
	go func() { gone <- ada.MayRead(first, "", "pods") }()
	s.eventually("asked", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.asked["ada /pods"] == 1 })
	answers := make(chan bool)
	for range 10 {
		go func() { answers <- ada.MayRead(t.Context(), "", "pods") }()
	}
	giveUp()
	if <-gone {
		t.Error("allowed without an answer")
	}
	close(hold)
	for range 10 {
		if !<-answers {
			t.Error("not allowed")
		}
	}
	if n := s.asked["ada /pods"]; n != 1 {
		t.Errorf("%d reviews", n)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	s := newStage(t)
	for i := range permitsOfAll/permitsOfOne + 2 {
		reader := s.reader(fmt.Sprint("user", i))
		for n := range permitsOfOne + 10 {
			reader.permits.allow(t.Context(), reader.id, question{fmt.Sprint("ns-", n), "pods"})
		}
	}
	p := s.readers.permits
	count := 0
	for id, known := range p.of {
		count += len(known)
		if len(known) > permitsOfOne {
			t.Errorf("%s has %d answers", id.name(), len(known))
		}
	}
	if count != p.count || count > permitsOfAll {
		t.Errorf("%d answers, counted %d", count, p.count)
	}
}

func TestARevokedReaderMayReadNothing(t *testing.T) {
	s := newStage(t)
	s.may["ada /pods"] = true
	ada := s.reader("ada")
	if !ada.MayRead(t.Context(), "shop", "pods") {
		t.Fatal("not allowed")
	}
	s.readers.drop(ada.id)
	if ada.MayRead(t.Context(), "shop", "pods") {
		t.Error("allowed after the end")
	}
}

func TestOtherGroupsAreOtherPermissions(t *testing.T) {
	s := newStage(t)
	s.may["ada /pods"] = true
	ada := s.reader("ada")
	s.user("token-ada", "ada", "fewer")
	s.clock.Step(reviewEvery - time.Second)
	ada.MayRead(t.Context(), "", "pods") // this answer is kept for longer than a second
	s.clock.Step(time.Second)
	if err := s.readers.review(t.Context(), ada.id); err != nil {
		t.Fatal(err)
	}
	ada.MayRead(t.Context(), "", "pods")
	if !slices.Equal(s.lastSubjects.Groups, []string{"fewer"}) {
		t.Errorf("asked with the groups %q", s.lastSubjects.Groups)
	}
	s.user("token-ada", "eve")
	s.clock.Step(reviewEvery)
	if err := s.readers.review(t.Context(), ada.id); !errors.Is(err, errRejected) {
		t.Errorf("the token of another user: %v", err)
	}
}

// A page that asks more than can be kept must not ask everything again each time.
func TestTooManyQuestionsLoseFewAnswers(t *testing.T) {
	s := newStage(t)
	ada := s.reader("ada")
	all := func() {
		for n := range permitsOfOne + 10 {
			ada.permits.allow(t.Context(), ada.id, question{fmt.Sprint("ns-", n), "pods"})
		}
	}
	all()
	before := len(s.asked)
	again := map[string]int{}
	s.set(func() { again, s.asked = s.asked, map[string]int{} })
	all()
	if n := len(s.asked); before != len(again) || n > permitsOfOne/10 {
		t.Errorf("asked %d questions, and %d of them again", before, n)
	}
}
