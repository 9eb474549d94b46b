package browser

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const (
	// axeTarball is the package of the accessibility checker, and axeSum its sum in the registry.
	axeTarball = "https://registry.npmjs.org/axe-core/-/axe-core-4.10.3.tgz"
	axeSum     = "Xm7bpRXnDSX2YE2YFfBk2FnF0ep6tmG7xPh8iHee8MIcrgq762Nkce856dYtJYLkuIoYZvGfTs/PbZhideTcEg=="
	axeFile    = "package/axe.min.js"
)

// Axe returns the script of the accessibility checker, from the user's cache or from the npm
// registry.
func Axe(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	kept := filepath.Join(cache, "reroll", "browser", filepath.Base(axeTarball))
	tarball, err := os.ReadFile(kept)
	if err != nil || !isAxe(tarball) {
		if tarball, err = fetch(ctx, axeTarball); err != nil {
			return "", err
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(kept), 0o750), os.WriteFile(kept, tarball, 0o600)); err != nil {
			return "", err
		}
	}
	return unpack(tarball, axeFile)
}

func isAxe(tarball []byte) bool {
	sum := sha512.Sum512(tarball)
	return base64.StdEncoding.EncodeToString(sum[:]) == axeSum
}

func fetch(ctx context.Context, from string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", from, err)
	}
	defer answer.Body.Close()
	tarball, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("fetch %s: %w", from, err)
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("fetch %s: %s", from, answer.Status)
	case !isAxe(tarball):
		return nil, fmt.Errorf("fetch %s: its sum is not %s", from, axeSum)
	}
	return tarball, nil
}

func unpack(tarball []byte, name string) (string, error) {
	plain, err := gzip.NewReader(bytes.NewReader(tarball))
	if err != nil {
		return "", err
	}
	for files := tar.NewReader(plain); ; {
		file, err := files.Next()
		if err != nil {
			return "", fmt.Errorf("find %s: %w", name, err)
		}
		if file.Name == name {
			text, err := io.ReadAll(files)
			return string(text), err
		}
	}
}

// Inaccessible returns what the checker finds on the present page.
func (t *Tab) Inaccessible(axe string) ([]string, error) {
	var result string
	err := t.Do(chromedp.Evaluate(axe+`;0`, nil), chromedp.Evaluate(`axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations.map(v =>
		v.id + ': ' + v.help + ' at ' + v.nodes.slice(0, 3).map(n => n.html + ' (' + n.failureSummary + ')').join(' | '))))`,
		&result, awaitPromise))
	if err != nil {
		return nil, fmt.Errorf("run axe: %w", err)
	}
	var found []string
	return found, json.Unmarshal([]byte(result), &found)
}

func awaitPromise(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
