package config

import (
	"net"
	"strconv"
)

// validateAddress refuses an address on which no program can listen. The name of a port is checked
// later, when the address is opened.
func validateAddress(flag, address string, refuse func(format string, args ...any)) {
	if address == "" {
		return
	}
	_, port, err := net.SplitHostPort(address)
	if number, notNumber := strconv.Atoi(port); err != nil || notNumber == nil && (number < 0 || number > 65535) {
		refuse("--%s=%s: write HOST:PORT, or :PORT for all interfaces, such as 127.0.0.1:9090", flag, address)
	}
}
