package annotations

import (
	"slices"
	"testing"
)

func TestShares(t *testing.T) {
	for text, of := range map[string][2]int{
		"5": {3, 5}, "10%": {3, 1}, "50%": {5, 2}, "100%": {7, 7}, "1%": {400, 4}, "99%": {1, 1},
	} {
		share, err := ParseShare(text)
		if err != nil || share.Of(of[0]) != of[1] || share.String() != text {
			t.Errorf("%s of %d is %d (%v), want %d", text, of[0], share.Of(of[0]), err, of[1])
		}
	}
	for _, text := range []string{"", "0", "0%", "101%", "-1", "5 %", "half", "1.5", "%"} {
		if _, err := ParseShare(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestAnInvalidAnnotationAboutWavesHasNoEffect(t *testing.T) {
	all := map[string]string{MaxRolling: "none", Soak: "-1m", MaxFailures: "few", Urgent: "yes", Resumed: "0123"}
	waves, mistakes := ReadWaves(all, true)
	if want := (Waves{Resumed: "0123"}); waves != want {
		t.Errorf("%+v", waves)
	}
	var about []string
	for _, p := range mistakes {
		about = append(about, p.Annotation)
	}
	if !slices.Equal(about, []string{MaxRolling, Soak, MaxFailures, Urgent}) {
		t.Errorf("mistakes of %v", about)
	}
	if mistakes := MistakesOfNamespace(map[string]string{MaxRolling: "5", Soak: "1m", MaxFailures: "1"}, DefaultNames()); len(mistakes) > 0 {
		t.Errorf("of a namespace: %v", mistakes)
	}
	if waves, mistakes := ReadWaves(map[string]string{Urgent: "true", Soak: "1m"}, false); waves.Urgent || !waves.HasSoak || len(mistakes) > 0 {
		t.Errorf("of a namespace: %+v, %v", waves, mistakes)
	}
}
