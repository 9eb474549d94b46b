package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/reroll-dev/reroll/test/checkout"
)

// Engine is that of Prometheus: test/promql says what it is asked and what it answers.
type Engine struct{ program string }

// Question is what it is asked.
type Question struct {
	Expressions map[string]string
	Times       []int64
	Scrapes     []Scrape
}

// Scrape is what was served at a time, with the labels of the scraper.
type Scrape struct {
	At     int64
	Labels map[string]string
	Text   string
}

// Answer is what one expression came to, at each of the times.
type Answer struct {
	Error   string
	Metrics map[string][]string
	Found   [][]Found
}

// Found is a series at one time.
type Found struct {
	Labels map[string]string
	Value  string
}

// NewEngine builds it in a folder.
func NewEngine(ctx context.Context, folder string) (*Engine, error) {
	source, err := checkout.Path("test", "promql")
	if err != nil {
		return nil, err
	}
	e := &Engine{filepath.Join(folder, "promql")}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", e.program, ".")
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build test/promql: %w\n%s", err, out)
	}
	return e, nil
}

// Ask asks. An expression that cannot be read has an answer that says so.
func (e *Engine) Ask(ctx context.Context, about Question) (map[string]Answer, error) {
	text, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, e.program)
	cmd.Stdin = bytes.NewReader(text)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ask test/promql: %w\n%s", err, stderr.String())
	}
	answers := map[string]Answer{}
	return answers, json.Unmarshal(out, &answers)
}
