package gitops

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// repository is a bare Git repository, with a checkout that commits are made in.
type repository struct {
	*place
	bare, checkout string
}

// files are texts by path. An empty one is a file that is to go.
type files map[string]string

func (p *place) newRepository() *repository {
	p.Helper()
	folder := p.TempDir()
	r := &repository{place: p, bare: filepath.Join(folder, "bare.git"), checkout: filepath.Join(folder, "checkout")}
	r.git("init", "--quiet", "--bare", "--initial-branch=main", r.bare)
	r.git("clone", "--quiet", r.bare, r.checkout)
	return r
}

// url is the one that Argo CD reads it by.
func (r *repository) url() string { return "file://" + r.bare }

// commit writes files and returns the revision, when everybody can fetch it.
func (r *repository) commit(message string, changed files) string {
	r.Helper()
	for name, text := range changed {
		path := filepath.Join(r.checkout, filepath.FromSlash(name))
		if text == "" {
			r.must(os.Remove(path))
			continue
		}
		r.must(os.MkdirAll(filepath.Dir(path), 0o700))
		r.must(os.WriteFile(path, []byte(r.here(text)), 0o600))
	}
	in := []string{"-C", r.checkout}
	r.git(append(in, "add", "--all")...)
	r.git(append(in, "commit", "--quiet", "--message", message)...)
	r.git(append(in, "push", "--quiet", "origin", "HEAD:main")...)
	return r.git(append(in, "rev-parse", "HEAD")...)
}

func (r *repository) git(args ...string) string {
	r.Helper()
	cmd := exec.CommandContext(r.ctx, "git", append([]string{"-c", "user.name=user", "-c", "user.email=user@example.com"}, args...)...)
	// Settings of whoever runs the tests do not count: hooks, signatures, another name for the branch.
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
