package cli

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/config"
)

// A process without a controller cannot serve pages, so nothing of it may be used here.
func TestWithoutAnAddressThereIsNoUI(t *testing.T) {
	cfg := &config.Config{}
	if ui, err := (&process{cfg: cfg}).newUI(nil); ui != nil || err != nil {
		t.Errorf("got %v, %v", ui, err)
	}
	if needed := uiPermissions(cfg); len(needed) > 0 {
		t.Errorf("it needs %v", needed)
	}
}
