package controller

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// Some controllers reload nothing without approval. Users approve what events request, a while later
// and even if the data has changed since, and at the end what still waits. A change that waits is
// judged as any other when all is at rest.

// drawnApprovals is what has to be approved, and what users have approved.
type drawnApprovals struct {
	// required reports whether the running controller requires approval.
	required bool
	r        *rand.Rand
	// requests are the commands of events that no user has run.
	requests []string
	// sources are the digests that were approved on a source, and workloads those of all sources of a
	// workload.
	sources   map[source.LocalKey]map[digest.Digest]bool
	workloads map[string][]map[source.LocalKey]digest.Digest
}

// requireApproval draws whether a controller requires approval.
func (h *history) requireApproval() bool {
	a := &h.approvals
	a.r = rand.New(rand.NewPCG(h.seed, 1000+uint64(h.life)))
	if a.sources == nil {
		a.sources, a.workloads = map[source.LocalKey]map[digest.Digest]bool{}, map[string][]map[source.LocalKey]digest.Digest{}
	}
	a.required = a.r.IntN(8) == 0
	if a.required {
		h.say("approval is required")
	}
	return a.required
}

// requestApproval keeps the command of a request.
func (h *history) requestApproval(n notice.Notice) {
	if n.Reason == notice.ApprovalRequested {
		h.approvals.requests = append(h.approvals.requests, n.Text)
	}
}

var requested = regexp.MustCompile(`reroll approve -n shop (configmap|secret)/(\S+) --digest=([0-9a-f]{32})`)

// approveSome runs the commands of requests about sources. Each writes what it was told to, without
// looking at the data.
func (h *history) approveSome() {
	a := &h.approvals
	if !a.required || a.r.IntN(2) == 0 {
		return
	}
	for _, text := range a.requests {
		found := requested.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		key := source.LocalKey{Kind: source.ConfigMap, Name: found[2]}
		if found[1] == "secret" {
			key.Kind = source.Secret
		}
		var sum digest.Digest
		if err := sum.UnmarshalText([]byte(found[3])); err != nil {
			h.oracle.fail("a request has the digest %s: %v", found[3], err)
		}
		if h.annotate(found[1]+"s", key.Name, found[3]) {
			if a.sources[key] == nil {
				a.sources[key] = map[digest.Digest]bool{}
			}
			a.sources[key][sum] = true
		}
	}
	a.requests = nil
}

// approvePending approves on each workload that waits the data that all of its sources have now. It
// returns false if none waits.
func (h *history) approvePending() bool {
	approved := false
	for _, key := range inOrder(h.c.state.Keys(namespace)) {
		if h.c.records[key] == nil || h.c.records[key].awaits.by != gate.Approval {
			continue
		}
		facts, ok := h.c.state.Facts(key)
		if !ok {
			continue
		}
		seen := map[source.LocalKey]digest.Digest{}
		for i := range facts.Concerns {
			seen[facts.Concerns[i].Source.Key.Local()] = facts.Concerns[i].Source.Digest
		}
		if h.annotate(plural(key.Kind), key.Name, gate.ConsentTo(&facts, &reload.Decision{}).String()) {
			h.approvals.workloads[key.Name] = append(h.approvals.workloads[key.Name], seen)
			approved = true
		}
	}
	return approved
}

// annotate writes a consent, and returns false if it is there.
func (h *history) annotate(resource, name, text string) bool {
	before := h.server.Version()
	_, err := h.server.Edit(resource, inShop(name), "reroll-approve", func(obj simapi.Object) {
		values := annotationsOf(obj)
		values[annotations.Approved] = text
		obj.SetAnnotations(values)
	})
	if err != nil || h.server.Version() == before {
		return false
	}
	h.count("approvals")
	h.say("%s %s is approved: %s", resource, name, text)
	return true
}

// judgeApproval checks that a reload brings data that a user approved. Sources that
// the same write only records need no approval. So one approved source is enough, if it differs, is
// new, or has its earlier data again.
func (h *history) judgeApproval(key workload.Key, body []byte) {
	if !h.approvals.required || h.kind != "" || !bytes.Contains(body, []byte(`"template"`)) {
		return
	}
	before, errBefore, after, errAfter := h.ledgersOf(key, body)
	if errBefore != nil || errAfter != nil {
		return
	}
	differs, brought := false, map[source.LocalKey]digest.Digest{}
	for src, sum := range after.Entries {
		s := h.oracle.sources[simapi.Source{Resource: src.Kind.Resource(), Name: src.Name}]
		gone := s != nil && !s.exists // no Pod gets it
		old, known := before.Entries[src]
		if old != sum || h.oracle.changedSince(key.Name, src) {
			differs, brought[src] = differs || known && old != sum && !gone, sum
		}
	}
	if differs && !h.approvals.covers(key.Name, brought) {
		h.oracle.fail("%s is rolled with data that nobody approved: %s", key, strings.TrimSpace(ledger.Ledger{Entries: brought}.String()))
	}
	h.count("approved reloads")
}

// changedSince reports whether a source changed since our last write to a workload.
func (o *oracle) changedSince(name string, key source.LocalKey) bool {
	src := simapi.Source{Resource: key.Kind.Resource(), Name: key.Name}
	for _, w := range o.workloads {
		if s := o.sources[src]; w.name == name && s != nil && len(s.changes) > 0 {
			return s.changes[len(s.changes)-1].version > w.wrote[src]
		}
	}
	return false
}

// ledgersOf are the ledger of a workload, and the one that a patch writes.
func (h *history) ledgersOf(key workload.Key, body []byte) (before ledger.Ledger, errBefore error, after ledger.Ledger, errAfter error) {
	var patch struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	obj, err := h.server.Get(plural(key.Kind), inShop(key.Name))
	if err == nil {
		err = json.Unmarshal(body, &patch)
	}
	if err != nil {
		return before, err, after, err
	}
	w := workload.Workload{Key: key, UID: obj.GetUID()}
	before, errBefore = workload.ReadLedger(obj.GetAnnotations()[annotations.Ledger], &w)
	after, errAfter = workload.ReadLedger(patch.Metadata.Annotations[annotations.Ledger], &w)
	h.noteWholes()
	return h.inWholes(before), errBefore, h.inWholes(after), errAfter
}

func (a *drawnApprovals) covers(name string, brought map[source.LocalKey]digest.Digest) bool {
	for src, sum := range brought {
		if a.sources[src][sum] {
			return true
		}
		for _, seen := range a.workloads[name] {
			if seen[src] == sum {
				return true
			}
		}
	}
	return false
}
