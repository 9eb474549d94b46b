package faults

import (
	"fmt"

	"github.com/reroll-dev/reroll/test/harness"
)

// present is the last controller that was started.
func (h *history) present() *harness.Controller {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lives[len(h.lives)-1]
}

// alive reports whether a controller runs.
func (h *history) alive() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.lives) > 0 && !h.killed
}

// life is how many controllers there have been.
func (h *history) life() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.lives)
}

// kill ends the present controller at once. The proxy calls it in the middle of a request.
func (h *history) kill() {
	h.mu.Lock()
	h.killed, h.shotAt = true, len(h.lives)
	c := h.lives[len(h.lives)-1]
	h.mu.Unlock()
	c.Kill()
}

// shot reports whether the present controller was killed, which one that was only asked to end has
// not been.
func (h *history) shot() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.shotAt == len(h.lives)
}

// end kills the controller, or asks it to end, whatever it is doing.
func (h *history) end() {
	switch {
	case !h.alive():
	case h.rand.IntN(3) == 0:
		h.step("stop the controller")
		h.mu.Lock()
		h.killed = true
		h.mu.Unlock()
		h.proxy.release()                                            // what is in flight is finished first
		if err := h.present().Stop(h.ctx); err != nil && !h.shot() { // a kill may strike while it ends
			h.Errorf("stop: %v", err)
			h.kill()
		}
		h.tally.count(stopped)
	default:
		h.step("kill the controller")
		h.kill()
		h.tally.count(killIdle)
	}
}

// revive starts controllers until one stays alive and is ready. If a snapshot is held back
// meanwhile, something happens before it is delivered.
func (h *history) revive(meanwhile func() error) error {
	for !h.alive() {
		if err := h.start(meanwhile); err != nil {
			return err
		}
	}
	return nil
}

func (h *history) start(meanwhile func() error) error {
	select {
	case <-h.proxy.caught: // of an earlier life
	default:
	}
	c, err := h.installed.Launch(flags(), h.env)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.lives = append(h.lives, c)
	h.killed = false
	h.mu.Unlock()
	h.say("controller %d starts", len(h.lives))
	ready := make(chan error, 1)
	go func() { ready <- c.AwaitReady(h.ctx) }()
	for {
		select {
		case <-h.proxy.caught:
			if meanwhile != nil {
				if err := meanwhile(); err != nil {
					return err
				}
				meanwhile = nil
			}
			h.proxy.release()
		case err := <-ready:
			switch {
			case !h.alive():
				return nil
			case err != nil:
				return fmt.Errorf("%w: %w", errEnded, err)
			default:
				return nil
			}
		}
	}
}
