package harness

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Log keeps what a process has written to its standard output and error.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Lines returns the whole lines written so far.
func (l *Log) Lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(l.text.String(), "\n")
	return lines[:len(lines)-1]
}

// Holding returns the lines that hold all of these words.
func (l *Log) Holding(words ...string) []string {
	return slices.DeleteFunc(l.Lines(), func(line string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) })
	})
}

// raced is how Go begins a line about what no program may do.
var raced = regexp.MustCompile(`^(WARNING: DATA RACE|panic: |fatal error: )`)

// Count returns how many lines match.
func (l *Log) Count(pattern *regexp.Regexp) int {
	count := 0
	for _, line := range l.Lines() {
		if pattern.MatchString(line) {
			count++
		}
	}
	return count
}

// Tail returns the last lines, what stands in an unfinished one included.
func (l *Log) Tail(lines int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := strings.Split(strings.TrimRight(l.text.String(), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// field returns a field of the first JSON line that has this message.
func (l *Log) field(message, name string) (string, bool) {
	for _, line := range l.Lines() {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry["msg"] != message {
			continue
		}
		value, ok := entry[name].(string)
		return value, ok
	}
	return "", false
}
