package inspect

// unlisted reports whether the workload has Pods although its selector matches none. The data of
// such Pods is unknown: they are neither up to date nor out of date.
func (a *Answer) unlisted() bool {
	return a.Pods != nil && a.Workload.Hides(a.Pods.Count)
}

// doubtUnlisted records that an answer needed Pods and none were found.
func (a *Answer) doubtUnlisted() {
	if !a.unlisted() {
		return
	}
	status := "its status does not count Pods"
	if n := int64(a.Workload.Progress.Total); n > 0 {
		status = "its status counts " + counted(n, "Pod")
	}
	a.doubt(status + ", and " + a.Workload.WhyNotFound())
}
