//go:build !linux

package cli

// unmapProgram does nothing where the system has no such request.
func unmapProgram() {}
