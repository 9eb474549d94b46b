package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// root is that of the repository.
const root = "../.."

// block is what stands between two fences of a page.
type block struct {
	page, language string
	line           int // of the opening fence
	// words stand behind the language, where no reader of the rendered page sees them, and say how
	// the block is tried.
	words map[string]string
	text  string
}

func (b *block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// first is the line by which a list names the block.
func (b *block) first() string {
	line, _, _ := strings.Cut(b.text, "\n")
	return strings.TrimSpace(line)
}

// builds reports whether its commands need the code.
func (b *block) builds() bool { return strings.Contains("\n"+b.text, "\nmake ") }

// pages are all that users read, by their paths from the root.
func pages() ([]string, error) {
	found := []string{"README.md", "charts/reroll/README.md"}
	// Decisions (docs/adr) are no pages for users.
	for _, pattern := range []string{"docs/*.md", "docs/[^a]*/*.md", "examples/*/README.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			page, err := filepath.Rel(root, file)
			if err != nil {
				return nil, err
			}
			found = append(found, page)
		}
	}
	return found, nil
}

// notTried are the languages of blocks that are neither applied nor run. Any other has to be known,
// so that no block passes by for the name of its language.
func notTried() []string { return []string{"", "go", "hcl", "json", "mermaid"} }

// programs are what commands begin with: a block without a language that begins so was meant to be
// one.
func programs() []string {
	return []string{"argocd", "bin/helm", "bin/reroll", "curl", "docker", "flux", "git", "go", "helm", "kind", "kubectl", "kustomize", "make", "reroll"}
}

// read returns the blocks of a page that are to be applied or run.
func read(page string) ([]*block, error) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return nil, err
	}
	var blocks []*block
	var open *block
	for i, line := range strings.Split(string(text), "\n") {
		fence, behind, _ := strings.Cut(line, "```")
		isFence := strings.HasPrefix(line, fence+"```") && strings.TrimSpace(fence) == ""
		switch {
		case isFence && open == nil:
			open = &block{page: page, line: i + 1, words: map[string]string{}}
			words := strings.Fields(behind)
			if len(words) > 0 {
				open.language, words = words[0], words[1:]
			}
			for _, word := range words {
				key, value, _ := strings.Cut(word, "=")
				open.words[key] = value
			}
		case isFence:
			blocks, open = append(blocks, open), nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s: its fence is never closed", open)
	}
	var tried []*block
	for _, b := range blocks {
		if b.language == "" && strings.HasPrefix(b.text, "$ ") {
			b.language = "console"
		}
		switch {
		case b.language == "" && slices.Contains(programs(), strings.Fields(b.text + " .")[0]):
			return nil, fmt.Errorf("%s: it begins as a command does: write sh behind its fence", b)
		case slices.Contains(notTried(), b.language):
		case b.language == "sh", b.language == "console", b.language == "yaml":
			tried = append(tried, b)
		default:
			return nil, fmt.Errorf("%s: a block in %q: write sh, console or yaml, or add it to those that are not tried", b, b.language)
		}
	}
	return tried, nil
}
