// Package argocd does with Argo CD what its users do with its command line, and keeps the Git
// repositories that it reads.
package argocd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Repository is a bare Git repository, with a checkout that commits are made in.
type Repository struct {
	bare     string
	checkout string
}

// NewRepository makes an empty one in a folder.
func NewRepository(ctx context.Context, folder string) (*Repository, error) {
	r := &Repository{bare: filepath.Join(folder, "bare.git"), checkout: filepath.Join(folder, "checkout")}
	if _, err := git(ctx, "init", "--quiet", "--bare", "--initial-branch=main", r.bare); err != nil {
		return nil, err
	}
	_, err := git(ctx, "clone", "--quiet", r.bare, r.checkout)
	return r, err
}

// URL is the one that Argo CD reads it by.
func (r *Repository) URL() string { return "file://" + r.bare }

// Path is that of a file in the checkout.
func (r *Repository) Path(name string) string {
	return filepath.Join(r.checkout, filepath.FromSlash(name))
}

// Copy puts what is in a folder into the checkout, for the next commit.
func (r *Repository) Copy(folder, name string) error {
	return os.CopyFS(r.Path(name), os.DirFS(folder))
}

// Replace changes a text that stands once in a file of the checkout, for the next commit.
func (r *Repository) Replace(name, was, is string) error {
	text, err := os.ReadFile(r.Path(name))
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), was); n != 1 {
		return fmt.Errorf("%s holds %q %d times, and it has to be once", name, was, n)
	}
	return os.WriteFile(r.Path(name), []byte(strings.Replace(string(text), was, is, 1)), 0o600)
}

// Commit commits all that has changed in the checkout and returns the revision, when everybody can
// fetch it.
func (r *Repository) Commit(ctx context.Context, message string) (string, error) {
	if _, err := r.git(ctx, "add", "--all"); err != nil {
		return "", err
	}
	if _, err := r.git(ctx, "commit", "--quiet", "--message", message); err != nil {
		return "", err
	}
	return r.push(ctx)
}

// Revert makes a commit that undoes the last one.
func (r *Repository) Revert(ctx context.Context) (string, error) {
	if _, err := r.git(ctx, "revert", "--no-edit", "HEAD"); err != nil {
		return "", err
	}
	return r.push(ctx)
}

func (r *Repository) push(ctx context.Context) (string, error) {
	if _, err := r.git(ctx, "push", "--quiet", "origin", "HEAD:main"); err != nil {
		return "", err
	}
	return r.git(ctx, "rev-parse", "HEAD")
}

func (r *Repository) git(ctx context.Context, args ...string) (string, error) {
	return git(ctx, append([]string{"-C", r.checkout}, args...)...)
}

func git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=user", "-c", "user.email=user@example.com"}, args...)...)
	// Settings of whoever runs this do not count: hooks, signatures, another name for the branch.
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
