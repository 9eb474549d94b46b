package controller

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/simapi"
)

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
			h.pardons++
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
