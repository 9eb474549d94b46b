package controller

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/simapi"
)

const (
	// valuePardoned: a Pod lacks a value that nothing owed it before: see pardon.
	valuePardoned excuse = "edited before it counted"
	// chosenInGap: keys were chosen while no controller ran, and one of them did not count before, or all
	// count then and one was removed. The ledger does not show it.
	chosenInGap excuse = "chosen in a gap"
	// chosenLate: keys were chosen after the edit and soon before the controller ended, or the choice was
	// removed. The ledger may not show which counted before, and no annotation has a time from before the edit.
	chosenLate excuse = "chosen before a gap"
)

// keyBounds limit the uses of each excuse in a thousand histories of keys.
func keyBounds() map[excuse]float64 {
	return map[excuse]float64{inDoubt: 640, valuePardoned: 1, chosenInGap: 1382, chosenLate: 25}
}

// forgive stops owing a key, with an excuse if a Pod lacks its present value.
func (h *keyHistory) forgive(name, key string, why excuse) {
	if h.owed[name][key] && slices.ContainsFunc(h.lacked(name), func(l lackedKey) bool { return l.key == key }) {
		h.excused(why)
	}
	delete(h.owed[name], key)
}

// lackedKey is a key whose value a Pod does not have.
type lackedKey struct {
	pod types.UID
	key string
}

// lacks returns a key that is owed if a Pod does not have its present value.
func (h *keyHistory) lacks(name string) string {
	for _, lacked := range h.lacked(name) {
		switch value, pardoned := h.pardoned[lacked]; {
		case !h.owed[name][lacked.key]:
		case pardoned && value == h.values()[lacked.key]:
			h.excused(valuePardoned)
		default:
			return lacked.key
		}
	}
	return ""
}

// lacked are the keys whose present values Pods do not have. An absent key has no value.
func (h *keyHistory) lacked(name string) (all []lackedKey) {
	obj, err := h.server.Get("deployments", inShop(name))
	if err != nil {
		h.t.Fatal(err)
	}
	now := h.values()
	for _, pod := range h.pods.Of(obj) {
		content, started := h.pods.Content(pod)
		if !started || !lives(pod) {
			continue
		}
		web := content[simapi.Source{Resource: "configmaps", Name: "web"}]
		for _, key := range []string{"a", "b", "c"} {
			has := strings.Contains(web, fmt.Sprintf("%q=%q", key, now[key]))
			_, exists := now[key]
			if exists && !has || !exists && strings.Contains(web, fmt.Sprintf("%q=", key)) {
				all = append(all, lackedKey{pod.UID, key})
			}
		}
	}
	return all
}

// pardon notes which values of the keys that count Pods do not have, and that nothing owes them: these
// keys were edited while they did not count. The ledger has these values, so that nothing shows that
// Pods have others if a key changes and changes back within a settle period.
func (h *keyHistory) pardon(name string) {
	for _, lacked := range h.lacked(name) {
		if strings.Contains(h.counted(name), lacked.key) && !h.owed[name][lacked.key] {
			h.pardoned[lacked] = h.values()[lacked.key]
		}
	}
}
