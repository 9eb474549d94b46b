package dashboard

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A scale is a unit that values on an axis are shown in: as many of the unit as the factor says are
// one.
type scale struct {
	factor float64
	name   string
}

// scaleOf chooses the one in which the largest value can be read, as Grafana does for units of
// these names.
func scaleOf(unit string, most float64) (scale, error) {
	var all []scale // from the smallest
	switch unit {
	case "", "short":
		all = []scale{{1, ""}, {1e3, " K"}, {1e6, " Mil"}}
	case "s":
		all = []scale{{1e-6, " µs"}, {1e-3, " ms"}, {1, " s"}, {60, " min"}, {3600, " hours"}}
	case "bytes":
		all = []scale{{1, " B"}, {1 << 10, " KiB"}, {1 << 20, " MiB"}, {1 << 30, " GiB"}}
	case "ops":
		all = []scale{{1, " ops/s"}, {1e3, " Kops/s"}}
	case "reqps":
		all = []scale{{1, " req/s"}, {1e3, " Kreq/s"}}
	default:
		return scale{}, fmt.Errorf("it has the unit %q, which is not drawn here", unit)
	}
	chosen := all[0]
	for _, s := range all[1:] {
		if most >= s.factor {
			chosen = s
		}
	}
	return chosen, nil
}

// show writes a value with as many decimals as are needed, or as many as are asked for.
func (s scale) show(v float64, decimals *int) string {
	if decimals != nil {
		return strconv.FormatFloat(v/s.factor, 'f', *decimals, 64) + s.name
	}
	text := strconv.FormatFloat(v/s.factor, 'f', 3, 64)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".") + s.name
}

// ticks are round numbers from 0 up to one that is no less than the largest value.
func (s scale) ticks(most float64) []float64 {
	const about = 4
	most /= s.factor
	if most <= 0 {
		most = 1
	}
	power := math.Pow(10, math.Floor(math.Log10(most/about)))
	step := 10 * power
	for _, nice := range []float64{1, 2, 2.5, 5} {
		if nice*power*about >= most {
			step = nice * power
			break
		}
	}
	all := []float64{0}
	for i := 1; all[len(all)-1] < most*s.factor*(1-1e-9); i++ {
		all = append(all, float64(i)*step*s.factor)
	}
	return all
}

// clock writes seconds as minutes, which is how a dashboard of some minutes is read.
func clock(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}
