package controller

// step is an intentional action of a user. Its weight is its frequency.
type step struct {
	name   string
	weight int
	do     func() bool
}

func (u *users) steps() []step {
	h := u.h
	comeAndGo := 1
	if h.onCreate || h.onDelete {
		comeAndGo = 4 // that is what these histories are about
	}
	pauses, policies, selector, forgotten := weight(h.pauses), weight(h.policies), weight(h.selector), weight(h.forgotten)
	inNamespace, keys := weight(h.inNamespace), weight(h.keysChosen)
	return []step{
		{"edit a source", 30, func() bool { return u.editSource(u.source()) }},
		{"add a key", 6, func() bool { return u.addKey(u.source()) }},
		{"take a key away", 8, func() bool { return u.removeKey(u.source()) }},
		{"put content back", 6, func() bool { return u.putBack(u.source()) }},
		{"label a source", 10, func() bool { return u.touch(u.source()) }},
		{"edit and label a source", 3, func() bool { return u.editAndTouch(u.source()) }},
		{"swap a source for a moment", 3, func() bool { return u.swap(u.source()) }},
		{"say of a source whom it concerns", 5 * policies, func() bool { return u.annotateSource(u.source()) }},
		{"select a source or not", 6 * selector, func() bool { return u.selectOrNot(u.source()) }},
		{"label a source for workloads", 10 * weight(h.byLabel), func() bool { return u.labelPlugins(u.source()) }},
		{"select sources by label", 4 * weight(h.byLabel), func() bool { return u.selectByLabel(u.workload()) }},
		{"select the namespace or not", 6 * inNamespace, u.selectNamespace},
		{"forget the managers of a source", 8 * forgotten, func() bool { return u.forgetManagers(u.source()) }},
		{"ask in another way", 6 * policies, func() bool { return u.askOtherwise(u.workload()) }},
		{"choose other keys", 12 * keys, func() bool { return u.chooseKeys(u.workload()) }},
		{"delete a source", 3 * comeAndGo, func() bool { return u.deleteSource(u.source()) }},
		{"create a source again", 6 * comeAndGo, func() bool { return u.createAgain() }},
		{"edit a template", 8, func() bool { return u.editTemplate(u.workload()) }},
		{"change the references", 5, func() bool { return u.changeReferences(u.workload()) }},
		{"edit a template with its source", 4, func() bool { return u.editBoth(u.workload()) }},
		{"undo a rollout", 5, func() bool { return u.undo([]string{"web", "api"}[h.rand.IntN(2)]) }},
		{"scale", 5, func() bool { return u.scale(u.workload()) }},
		{"evict a pod", 4, func() bool { return u.evict(u.workload()) }},
		{"write a status", 5, func() bool { return u.writeStatus(u.workload()) }},
		{"opt out or in", 4 + 4*weight(h.optInLate), func() bool { return u.opt(u.workload()) }},
		{"take the ledger away", 2, func() bool { return u.wipe(u.workload()) }},
		{"delete a workload", 2, func() bool { return u.deleteWorkload(u.workload()) }},
		{"create a workload again", 4, func() bool { return u.createWorkloadAgain() }},
		{"ask for pauses or not", 18 * pauses, func() bool { return u.askForPauses(u.deployment()) }},
		{"spoil a pause", 8 * pauses, func() bool { return u.spoilPause(u.deployment()) }},
		{"end a pause", 8 * pauses, func() bool { return u.endPause(u.deployment()) }},
	}
}

// userStep draws a step.
func (h *history) userStep() {
	steps := h.users.steps()
	switch h.kind {
	case "":
	case classKind:
		steps = h.users.classSteps()
	case cronJobKind:
		steps = h.users.cronJobSteps()
	default:
		steps = h.users.jobSteps()
	}
	all := 0
	for _, s := range steps {
		all += s.weight
	}
	n := h.rand.IntN(all)
	for _, s := range steps {
		if n -= s.weight; n >= 0 {
			continue
		}
		h.count("steps")
		h.say("user step: %s", s.name)
		did := true // also if a kill ends it before it returns
		defer func() {
			if did {
				h.count("step: " + s.name)
				h.oracle.stepped()
			}
		}()
		did = s.do()
		return
	}
}

// weight returns the weight of steps that only some histories have.
func weight(drawn bool) int {
	if drawn {
		return 1
	}
	return 0
}
