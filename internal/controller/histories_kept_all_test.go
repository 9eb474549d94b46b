package controller

// shownWorkloads starts a controller with --auto-reload-all, and delivers all workloads, one of
// which is not opted in otherwise.
func (s script) shownWorkloads() {
	s.again("api", nil)
	for range 60 {
		s.stepPods()
	}
	s.elapse(2 * longestSettle)
	s.start()
	for _, f := range s.feeds {
		s.shownAll(f.resource)
	}
}

// keptAllHistories are those of controllers with --auto-reload-all.
func keptAllHistories() map[string]keptHistory {
	settings, cert := sources()[0], sources()[3]
	return map[string]keptHistory{
		"a controller without --auto-reload-all ends before it can record that": {draws{all: allAlways}, func(s script) {
			s.shownWorkloads()
			s.stop()
			s.elapse(2 * longestSettle)
			s.edit(settings, "kubectl-edit")
			s.users.editTemplate(workloads()[1])
			for range 60 {
				s.stepPods()
			}
			s.all = allNever
			s.start()
			s.stop()
			s.all = allAlways
		}},
		"a namespace is not selected any more before a controller with --auto-reload-all has seen everything": {draws{all: allAlways, inNamespace: true}, func(s script) {
			if s.oracle.unselected {
				s.users.selectNamespace()
			}
			s.shownWorkloads()
			s.shownAll("secrets")
			s.elapse(2 * longestSettle)
			s.edit(cert, "kubectl-edit")
			s.shownAll("secrets")
			s.users.selectNamespace()
			s.shownAll("configmaps")
			s.elapse(longestSettle)
			s.lookAtAll()
		}},
	}
}
