package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
)

func TestReadUntil(t *testing.T) {
	const end = "initial-events-end"
	long := strings.Repeat("initial-events-en.", 10000)
	for about, stream := range map[string]io.Reader{
		"alone":                        strings.NewReader(end),
		"behind what looks alike":      strings.NewReader(long + end + "more"),
		"torn into single bytes":       iotest.OneByteReader(strings.NewReader("before " + end)),
		"torn between two full reads":  strings.NewReader(strings.Repeat(".", 64<<10-5) + end),
		"with the end of the stream":   iotest.DataErrReader(strings.NewReader("before " + end)),
		"halved by the reader at will": iotest.HalfReader(strings.NewReader(long + end)),
	} {
		t.Run(about, func(t *testing.T) {
			if err := readUntil(stream, []byte(end)); err != nil {
				t.Error(err)
			}
		})
	}
	if err := readUntil(strings.NewReader(long), []byte(end)); !errors.Is(err, io.EOF) {
		t.Errorf("a stream that ends too early: the error is %v", err)
	}
}

func TestEachWith(t *testing.T) {
	names := numbered("n", 100)
	var sum atomic.Int64
	if err := eachWith(t.Context(), 7, names, func(context.Context, string) error { sum.Add(1); return nil }); err != nil || sum.Load() != 100 {
		t.Errorf("%d of 100, error %v", sum.Load(), err)
	}
	bad := errors.New("bad")
	sum.Store(0)
	err := eachWith(t.Context(), 1, names, func(_ context.Context, name string) error {
		sum.Add(1)
		if name == "n-00041" {
			return bad
		}
		return nil
	})
	if !errors.Is(err, bad) || sum.Load() != 42 {
		t.Errorf("error %v after %d", err, sum.Load())
	}
}

func TestTheLedgerOfATwinIsAsLong(t *testing.T) {
	const (
		mine, twins = "35576b68-0000-4000-8000-000000000001", "9c1f7c1e-0000-4000-8000-000000000002"
		ledger      = `{"v":1,"uid":"` + mine + `","key":"4d7919db","n":1,"t":1795240000,"cm":{"shared":"0979016f4f2cf61bc2934fde48d0fc1e"}}`
		want        = `{"v":1,"uid":"` + twins + `","key":"4d7919db","n":1,"t":1795240000,"cm":{"shared":"dc30e0faa89a70dec1033016a2309bbe"}}`
	)
	got := likeLedger(ledger, mine, twins, "dc30e0faa89a70dec1033016a2309bbeb9efcbd0")
	if got != want || len(got) != len(ledger) {
		t.Errorf("%s, must be %s", got, want)
	}
}

func read(args ...string) (options, error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return readOptions(flags, args)
}

func TestOptionsThatMeasureNothing(t *testing.T) {
	o, err := read()
	if err != nil || o.fan != 1000 || o.crowds[2] != 20000 || o.idle != time.Minute || !o.plays("start") {
		t.Errorf("the sizes of a whole run are %+v, error %v", o, err)
	}
	o, err = read("-check", "-fan=7", "-only=storm,soak")
	if err != nil || o.fan != 7 || o.owners != 100 || !o.plays("soak") || o.plays("start") {
		t.Errorf("the sizes of a check are %+v, error %v", o, err)
	}
	_, err = read("-edits=-1", "-runs=0", "-idle=0s", "-only=sart", "-curve=5,3")
	for _, want := range []string{"-edits=-1: must be 1 or more", "-runs=0: must be 1 or more", "-idle=0s: must be more than 0", `-only=sart: there is no scenario "sart"`, "-curve=5,3: must be numbers that grow"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, must hold %q", err, want)
		}
	}
}

func TestRequestsWithoutReloadsHaveNoLeast(t *testing.T) {
	sh := newSheet()
	sh.asked = []requests{{events: 2}}
	rows := sh.rows()
	if len(rows) != 3 || rows[0].Figure != events.String() || rows[0].Limit != nil {
		t.Errorf("the rows are %+v", rows)
	}
}
