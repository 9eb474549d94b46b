// Package mlog stands for the log of the driver, whose module the Go module proxy does not serve.
package mlog

import (
	"context"
	"fmt"
	"os"
)

// LogFormat is what the driver asks for. Here it logs as klog does without being told.
type LogFormat string

// The formats that the driver names.
const FormatText, FormatJSON LogFormat = "text", "json"

// Setup returns what is to be called at the end.
func Setup() func() { return func() {} }

// ValidateAndSetKlogLevelAndFormatGlobally sets nothing.
func ValidateAndSetKlogLevelAndFormatGlobally(context.Context, any, LogFormat) error { return nil }

// Error logs an error.
func Error(what string, err error, _ ...any) { fmt.Fprintf(os.Stderr, "%s: %v\n", what, err) }

// Fatal logs an error and ends the program.
func Fatal(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
