// Package checkout finds the files of the project, which tests and programs for tests read.
package checkout

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const module = "github.com/reroll-dev/reroll"

// Path is that of a file or folder of the checkout.
func Path(elements ...string) (string, error) {
	root, err := Root()
	return filepath.Join(append([]string{root}, elements...)...), err
}

// Root is the folder of the checkout that the working folder is in.
func Root() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module "+module+"\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in a checkout of %s: run this from one", wd, module)
		}
	}
}
