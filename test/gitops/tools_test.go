package gitops

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/reroll-dev/reroll/test/harness"
)

// tool brings a manifest into the namespace of a test, all of it each time, and returns when that
// is done.
type tool func(p *place) deployer

type deployer interface {
	// apply fails if the API server refuses what the tool sends it.
	apply(manifest string) error
}

// watcher is one that also says which objects differ from what it has, like rollout/web.
type watcher interface {
	// differs returns when those are among them that are known to.
	differs(known ...string) []string
}

// argoCD syncs by hand, with sync options.
func argoCD(options ...any) tool {
	return func(p *place) deployer { return &argoCDUser{place: p, repo: p.newRepository(), options: options} }
}

// ignoring leaves the annotations of the controller alone, by the rule that its events tell to
// paste.
func ignoring(options ...any) tool {
	return func(p *place) deployer {
		return &argoCDUser{place: p, repo: p.newRepository(), options: append(options, "RespectIgnoreDifferences=true"), ignores: true}
	}
}

type argoCDUser struct {
	*place
	ignores bool
	repo    *repository
	app     *application
	options []any
	last    string
	now     string
}

func (u *argoCDUser) apply(manifest string) error {
	u.Helper()
	if manifest != u.last {
		u.now, u.last = u.repo.commit("another state", files{"all.yaml": manifest}), manifest
	}
	if u.app == nil {
		u.app = u.deploy(u.repo, byHand(u.options...))
		if u.ignores {
			u.app.ignore("apps/Deployment")
		}
	}
	u.app.sync(u.now, u.options...)
	u.app.awaitSynced(u.now)
	return nil
}

func (u *argoCDUser) differs(known ...string) []string {
	u.Helper()
	var found []string
	u.must(harness.Await(u.ctx, fmt.Sprintf("Argo CD to find that %q differ", known), func(context.Context) error {
		found = nil
		for _, r := range u.app.refresh().Status.Resources {
			if r.Status == "OutOfSync" {
				found = append(found, strings.ToLower(r.Kind)+"/"+r.Name)
			}
		}
		for _, object := range known {
			if !slices.Contains(found, object) {
				return fmt.Errorf("it names %q", found)
			}
		}
		return nil
	}))
	return found
}

// program is a command line tool, that says nothing of what differs.
type program struct {
	*place
	home string
	// in is the file of the manifest, below home, where run is called.
	in  string
	run func(p *program) error
}

func (p *program) apply(manifest string) error {
	p.Helper()
	file := filepath.Join(p.home, filepath.FromSlash(p.in))
	p.must(os.MkdirAll(filepath.Dir(file), 0o700))
	p.must(os.WriteFile(file, []byte(p.here(manifest)), 0o600))
	return p.run(p)
}

func (p *program) call(binary string, args ...string) error {
	_, err := p.output(binary, args...)
	return err
}

func (p *program) output(binary string, args ...string) (string, error) {
	args = append(args, "--namespace="+p.ns.Name, "--kubeconfig="+p.Cluster.Kubeconfig())
	cmd := exec.CommandContext(p.ctx, binary, args...)
	cmd.Dir = p.home
	// Settings and caches of whoever runs the tests do not count.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HELM_") || strings.HasPrefix(v, "XDG_") })
	cmd.Env = append(cmd.Env, "HOME="+p.home)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(binary), strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out), nil
}

func kubectl(flags ...string) tool {
	return func(p *place) deployer {
		p.Helper()
		clients, err := p.clients()
		p.must(err)
		return &program{place: p, home: p.TempDir(), in: "all.yaml", run: func(p *program) error {
			return p.call(clients.Kubectl, append([]string{"apply", "--filename=" + p.in}, flags...)...)
		}}
	}
}

func helm3() tool { return helm(3) }

func helm4(serverSide string) tool { return helm(4, "--server-side="+serverSide) }

func helm(major int, flags ...string) tool {
	return func(p *place) deployer {
		p.Helper()
		clients, err := p.clients()
		p.must(err)
		binary := clients.Helm3
		if major == 4 {
			binary = clients.Helm4
		}
		d := &program{place: p, home: p.TempDir(), in: "chart/templates/all.yaml"}
		d.run = func(p *program) error {
			p.Helper()
			p.must(os.WriteFile(filepath.Join(p.home, "chart", "Chart.yaml"), []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n"), 0o600))
			return p.call(binary, append([]string{"upgrade", "--install", "web", "./chart"}, flags...)...)
		}
		return d
	}
}

// operator writes whole objects, as some operators do with what they own.
func operator() tool { return func(p *place) deployer { return &putter{p} } }

type putter struct{ *place }

func (p *putter) apply(manifest string) error {
	p.Helper()
	for text := range strings.SplitSeq(manifest, "\n---\n") {
		obj := &unstructured.Unstructured{}
		p.must(yaml.Unmarshal([]byte(text), &obj.Object))
		resource := p.objects.Resource(p.kindOf(obj.GetKind()).Resource).Namespace(p.ns.Name)
		p.must(harness.Await(p.ctx, "the operator to write "+obj.GetName(), func(ctx context.Context) error {
			present, err := resource.Get(ctx, obj.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				_, err = resource.Create(ctx, obj, metav1.CreateOptions{FieldManager: "operator"})
				return err
			}
			if err != nil {
				return err
			}
			obj.SetResourceVersion(present.GetResourceVersion())
			_, err = resource.Update(ctx, obj, metav1.UpdateOptions{FieldManager: "operator"})
			return err // who writes the status may have been faster
		}))
	}
	return nil
}
