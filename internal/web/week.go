package web

import (
	"time"

	"github.com/reroll-dev/reroll/internal/window"
)

// zone returns the time zone that the browser of the reader names, or the other one if it names none
// that is known.
func (r *request) zone(other *time.Location) *time.Location {
	name := r.Header.Get("Time-Zone")
	if name == "" || name == "Local" {
		return other
	}
	zone, err := time.LoadLocation(name) //nolint:forbidigo // as for windows: the zones are in the binary
	if err != nil {
		return other
	}
	return zone
}

// weekOf returns the hours of the week that begins today, in the time zone of now.
func weekOf(cluster, text string, now time.Time) *week {
	w := &week{Cluster: cluster, Text: text, Zone: now.Location().String()}
	if w.Zone == "Local" {
		w.Zone, _ = now.Zone()
	}
	schedule, err := window.Parse(text)
	if err != nil {
		w.Err = err.Error()
		return w
	}
	w.Open = schedule.Open(now)
	w.Opens, _ = schedule.Opens(now)
	for day := range 7 {
		date := time.Date(now.Year(), now.Month(), now.Day()+day, 0, 0, 0, 0, now.Location())
		one := weekDay{Name: date.Format("Mon")}
		for hour := range 24 {
			one.Hours = append(one.Hours, hourOf(schedule, date.Add(time.Duration(hour)*time.Hour), now, one.Name+" "+clockHour(hour)))
		}
		w.Days = append(w.Days, one)
	}
	return w
}

// samples is how often an hour is checked. Windows begin and end at most at full minutes, and
// nearly all at quarters of an hour.
const samples = 12

func hourOf(schedule *window.Schedule, start, now time.Time, name string) weekHour {
	open := 0
	for i := range samples {
		if schedule.Open(start.Add(time.Duration(i) * time.Hour / samples)) {
			open++
		}
	}
	one := weekHour{Class: "part", Label: name + ": open for a part"}
	switch open {
	case 0:
		one = weekHour{Class: "shut", Label: name + ": closed"}
	case samples:
		one = weekHour{Class: "open", Label: name + ": open"}
	}
	if !now.Before(start) && now.Before(start.Add(time.Hour)) {
		one.Class += " here"
		one.Label += ", now"
	}
	return one
}
