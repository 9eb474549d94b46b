package config

import (
	"net"
	"testing"
)

// Anybody who can reach the port can read command lines, function names and allocations in a
// profile.
func TestProfilesAreServedOnLoopbackByDefault(t *testing.T) {
	c, _ := parsed(t, "--enable-pprof")
	host, port, err := net.SplitHostPort(c.PProfAddress)
	if err != nil || !net.ParseIP(host).IsLoopback() || port != "6060" {
		t.Errorf("by default they are served at %s", c.PProfAddress)
	}
	for _, address := range []string{":6060", "0.0.0.0:6060", "[::1]:7000"} {
		if c, _ := parsed(t, "--enable-pprof", "--pprof-addr="+address); c.PProfAddress != address {
			t.Errorf("%s was given, and %s counts", address, c.PProfAddress)
		}
	}
}
