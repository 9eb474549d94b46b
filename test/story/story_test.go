package story

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheStoryTellsWhatItWaitsForAndGivesUp(t *testing.T) {
	var out strings.Builder
	began := time.Now()
	s := &Story{out: &out, began: began, moved: began, expected: "a thing to come"}
	said, lines := 0, []int{}
	for second := range 120 {
		var err error
		if said, err = s.look(began.Add(time.Duration(second)*time.Second), 2*time.Minute, said); err != nil {
			t.Fatalf("it gives up after %d seconds: %v", second, err)
		}
		if strings.Count(out.String(), "waiting   for a thing to come\n") > len(lines) {
			lines = append(lines, second)
		}
	}
	if want := []int{15, 30, 60}; !slices.Equal(lines, want) {
		t.Errorf("it says what it waits for after %d seconds, want %d", lines, want)
	}
	_, err := s.look(began.Add(2*time.Minute), 2*time.Minute, said)
	if want := "nothing has happened for 2m0s; expected was a thing to come"; err == nil || err.Error() != want {
		t.Errorf("it gives up with %v, want %s", err, want)
	}
	s.Tell("came", "it")
	if said, err = s.look(time.Now(), 2*time.Minute, said); said != 0 || err != nil {
		t.Errorf("after something has happened it begins anew, and not with %d: %v", said, err)
	}
}
