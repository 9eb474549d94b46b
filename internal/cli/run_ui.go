package cli

import (
	"errors"
	"net"
	"net/http"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/access"
	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/permissions"
	"github.com/reroll-dev/reroll/internal/server"
	"github.com/reroll-dev/reroll/internal/web"
)

// ui is what --ui-address serves.
type ui struct {
	view   *inspect.View
	server *server.Server
}

// newUI returns nil if no UI is to be served.
func (p *process) newUI(flags *pflag.FlagSet) (*ui, error) {
	if p.cfg.UIAddress == "" {
		return nil, nil
	}
	readOnly := rest.CopyConfig(p.where.config)
	inspect.ReadOnly(readOnly)
	reads, err := inspect.NewCluster(readOnly)
	if err != nil {
		return nil, err
	}
	// A reader must not wait until the controller has written a thousand workloads.
	reviews, err := unlimited(p.where.config)
	if err != nil {
		return nil, err
	}
	wall := clock.RealClock{}
	own := inspect.Own{Namespace: p.where.namespace, Version: p.build.Version, Flags: config.Beyond(flags)}
	if p.leader.holder != nil {
		own.Lease = p.leader.holder.Seen
	}
	view := inspect.OfController(p.ctl, p.cfg, own, reads, wall)
	pages := web.New([]web.Cluster{view}, whoAsks, web.Options{Build: p.build, Clock: wall})
	served, err := server.ListenPages(p.cfg.UIAddress, p.fromLeader(access.NewTokens(reviews, wall, p.log).Protect(pages)))
	if err != nil {
		return nil, err
	}
	p.log.Info("serving the UI", "address", served.Address())
	return &ui{view, served}, nil
}

// fromLeader serves the pages of the leader, on the same port as here.
func (p *process) fromLeader(pages http.Handler) http.Handler {
	if p.leader.holder == nil {
		return pages
	}
	_, port, _ := net.SplitHostPort(p.cfg.UIAddress) // the flag was validated
	leader := access.Leader{IP: p.leader.holder.LeaderIP, Port: port, Log: p.log}
	return leader.Serve(pages)
}

func whoAsks(r *http.Request) (web.Reader, error) {
	reader, ok := access.Of(r)
	if !ok {
		return nil, errors.New("nobody is signed in")
	}
	return reader, r.Context().Err()
}

// uiPermissions returns the permissions to authenticate readers, to check their permissions, and to
// show the events of a workload.
func uiPermissions(cfg *config.Config) []permissions.Permission {
	if cfg.UIAddress == "" {
		return nil
	}
	all := append(permissions.To("authentication.k8s.io", "tokenreviews", "create"), permissions.To("authorization.k8s.io", "subjectaccessreviews", "create")...)
	for i := range all {
		all[i].Without = "nobody can sign in to the UI"
	}
	if holdsLease(cfg) && len(cfg.Namespaces) > 0 && !slices.Contains(cfg.Namespaces, cfg.PodNamespace) {
		pods := permissions.Permission{Namespace: cfg.PodNamespace, Resource: "pods", Verb: "list", Without: "a standby cannot find the leader, and shows no UI"}
		all = append(all, pods)
	}
	events := permissions.To("", "events", "list")
	events[0].Without = "the UI shows no history of workloads"
	return append(all, permissions.In(cfg.Namespaces, events...)...)
}
