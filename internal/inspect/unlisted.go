package inspect

// unlisted reports whether the workload has pods although its selector finds none. Nothing is known of such pods: they are neither
// up to date nor out of date.
func (a *Answer) unlisted() bool {
	return a.Pods != nil && a.Workload.Hides(a.Pods.Count)
}

// doubtUnlisted records that Pods were needed for an answer and not found.
func (a *Answer) doubtUnlisted() {
	if !a.unlisted() {
		return
	}
	status := "its status does not count Pods"
	if n := int64(a.Workload.Progress.Total); n > 0 {
		status = "its status counts " + counted(n, "pod")
	}
	a.doubt(status + ", and " + a.Workload.WhyNotFound())
}
