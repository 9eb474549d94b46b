package gitops

import (
	"os"
	"path/filepath"

	"github.com/reroll-dev/reroll/test/argocd"
)

// repository is one of a test, which fails when it cannot be used.
type repository struct {
	*place
	*argocd.Repository
}

// files are texts by path. An empty one is a file that is to go.
type files map[string]string

func (p *place) newRepository() *repository {
	p.Helper()
	r, err := argocd.NewRepository(p.ctx, p.TempDir())
	p.must(err)
	return &repository{place: p, Repository: r}
}

// commit writes files and returns the revision, when everybody can fetch it.
func (r *repository) commit(message string, changed files) string {
	r.Helper()
	for name, text := range changed {
		path := r.Path(name)
		if text == "" {
			r.must(os.Remove(path))
			continue
		}
		r.must(os.MkdirAll(filepath.Dir(path), 0o700))
		r.must(os.WriteFile(path, []byte(r.here(text)), 0o600))
	}
	revision, err := r.Commit(r.ctx, message)
	r.must(err)
	return revision
}
