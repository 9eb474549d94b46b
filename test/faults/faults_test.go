package faults

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The points at which the controller is killed, beside killInEvent.
const (
	killIdle     = "killed at any time"
	killBefore   = "killed before a patch is passed on"
	killLate     = "killed before a patch that lands later"
	killAfter    = "killed after a patch has landed, before the answer"
	killInStart  = "killed during the start"
	killRejected = "killed with a refusal on its way"
)

// stopped is no kill: the controller is asked to end and does.
const stopped = "stopped"

// A patch that lands late takes effect if nothing was written since, or is refused.
const (
	landed      = "late patch took effect"
	outdated    = "late patch was out of date"
	landsInNext = "late patch came when the next controller ran"
)

// requestFaults are those that wait for a request.
func requestFaults() []rule {
	var all []rule
	add := func(fault string, do func(*exchange), kinds ...kind) {
		for _, k := range kinds {
			all = append(all, rule{fault: string(k) + " " + fault, on: k, do: do})
		}
	}
	code := func(code int, reason metav1.StatusReason, retryAfter int) func(*exchange) {
		return func(x *exchange) { x.refuse(code, reason, retryAfter) }
	}
	add("refused with 500", code(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0), markPatch, ledgerPatch, podList, snapshot, resumed, eventWrite, leaseWrite)
	add("refused with 503", code(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 0), markPatch, resumed)
	add("throttled", code(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 1), markPatch, ledgerPatch, podList, snapshot)
	add("answered with a conflict", code(http.StatusConflict, metav1.StatusReasonConflict, 0), markPatch, ledgerPatch)
	add("dropped", (*exchange).hangUp, markPatch, ledgerPatch, podList, snapshot, resumed)
	add("answer lost", (*exchange).loseAnswer, markPatch, ledgerPatch)
	add("delayed", (*exchange).delay, markPatch, ledgerPatch, podList)
	add("lands late", (*exchange).landLate, markPatch, ledgerPatch)
	add("held back", func(x *exchange) { x.holds = true; x.pass() }, snapshot)
	add("cut within an event", func(x *exchange) { x.order = cutWatch; x.pass() }, snapshot)
	return all
}

// patchKills are those that wait for a patch.
func patchKills() []rule {
	return []rule{
		{fault: killBefore, on: markPatch, do: func(x *exchange) { x.kill(); x.hangUp() }},
		{fault: killLate, on: markPatch, do: func(x *exchange) { x.kill(); x.landLate() }},
		{fault: killAfter, on: markPatch, do: func(x *exchange) { x.swallow(); x.kill(); x.hangUp() }},
		{fault: killRejected, on: markPatch, do: func(x *exchange) {
			x.kill()
			x.refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)
		}},
	}
}

// startKills are those that wait for a controller to start.
func startKills() []rule {
	return []rule{
		{fault: killInStart, on: snapshot, about: "deployments", do: func(x *exchange) { x.kill(); x.hangUp() }},
		{fault: killInStart, on: snapshot, about: "secrets", do: func(x *exchange) { x.kill(); x.hangUp() }},
		{fault: killInStart, on: snapshot, about: "configmaps", do: func(x *exchange) { x.order = killInEvent; x.pass() }},
	}
}

func faultNames() []string {
	names := []string{string(endWatch), string(expireWatch), string(cutWatch), landed, outdated, landsInNext}
	for _, r := range requestFaults() {
		names = append(names, r.fault)
	}
	return names
}

func killNames() []string {
	names := []string{killIdle, stopped, string(killInEvent)}
	for _, r := range slices.Concat(patchKills(), startKills()[:1]) {
		names = append(names, r.fault)
	}
	return names
}

func (x *exchange) refuse(code int, reason metav1.StatusReason, retryAfter int) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: "the proxy refuses it",
	}
	if retryAfter > 0 {
		x.w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(code)
	_ = json.NewEncoder(x.w).Encode(status) // who does not read it is gone
}

// loseAnswer lets the API server act upon the request, and tells nobody what it said.
func (x *exchange) loseAnswer() {
	x.swallow()
	x.hangUp()
}

func (x *exchange) swallow() (code int) {
	resp, err := x.forward()
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// delay holds the request back while the sender waits.
func (x *exchange) delay() {
	free, _ := x.held()
	<-free
	x.pass()
}

// landLate holds the request back after the sender was told that the connection broke.
func (x *exchange) landLate() {
	_, free := x.held()
	x.hangUp()
	<-free
	if x.life() != x.from {
		x.strike(landsInNext)
	}
	switch x.swallow() {
	case http.StatusOK:
		x.strike(landed)
	case http.StatusConflict:
		x.strike(outdated)
	}
}
