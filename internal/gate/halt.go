package gate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Halt is how many of the latest reloads have to fail until no further one starts. The zero Halt
// halts nothing.
type Halt struct{ Percent, Last int }

// mostLatest bounds how many reloads a Halt is about, and so the work for each reload.
const mostLatest = 200

var errHalt = errors.New(`write a percentage and a number of reloads up to 200, such as "50%/20", or "off"`)

// DefaultHalt is generous: ten workloads have to fail at the same time.
func DefaultHalt() Halt { return Halt{Percent: 50, Last: 20} }

// ParseHalt reads a text such as 50%/20, or off.
func ParseHalt(text string) (Halt, error) {
	if text == "off" {
		return Halt{}, nil
	}
	share, last, _ := strings.Cut(text, "/")
	number, isShare := strings.CutSuffix(share, "%")
	percent, err := strconv.ParseInt(number, 10, 16)
	if err != nil || !isShare || percent < 1 || percent > 100 {
		return Halt{}, errHalt
	}
	n, err := strconv.ParseInt(last, 10, 16)
	if err != nil || n < 1 || n > mostLatest {
		return Halt{}, errHalt
	}
	return Halt{Percent: int(percent), Last: int(n)}, nil
}

// String returns the text that ParseHalt reads.
func (h Halt) String() string {
	if h == (Halt{}) {
		return "off"
	}
	return fmt.Sprintf("%d%%/%d", h.Percent, h.Last)
}

// Failures is how many failed reloads halt the others: the percentage, rounded up.
func (h Halt) Failures() int { return (h.Percent*h.Last + 99) / 100 }
