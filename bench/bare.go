package main

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// bare writes the PATCHes of reloads and does nothing else: it knows beforehand what to write
// where. It is the limit of what a controller can reach that has to find that out.
//
// It works on twins: Deployments of the same names and shape in a namespace that no controller
// looks at.
type bare struct {
	client kubeapi.Client
	kind   kinds.Kind
	// twins are what it writes to, and originals what the controller has written to.
	twins, originals *eyes
	round            atomic.Int64
}

// addBare makes the twins of some Deployments, and a client of the same permissions and settings as
// the controller's. Beside a peer there is none: the limit was measured beside the controller.
func (s *stage) addBare(ctx context.Context, names []string, source func(name string) string) (*bare, error) {
	if s.who.peer != "" {
		return nil, nil
	}
	const writer = "bare"
	if _, err := s.admin.CoreV1().ServiceAccounts(twins).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: writer}}, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("make the account of the bare writers: %w", err)
	}
	if _, err := s.admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: writer},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: account + "-role"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: twins, Name: writer}},
	}, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("give the bare writers the permissions of the controller: %w", err)
	}
	path, err := s.cluster.ServiceAccountKubeconfig(ctx, twins, writer)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the bare writers: %w", err)
	}
	client, err := clientset.NewForConfig(asController(config))
	if err != nil {
		return nil, err
	}
	b := &bare{client: kubeapi.Client{Interface: client}, kind: kinds.All()[0], originals: s.eyes}
	if b.twins, err = open(ctx, s.admin, twins); err != nil {
		return nil, err
	}
	if err := s.makeDeployments(ctx, b.twins, names, func(name string) deployment {
		return deployment{namespace: twins, name: name, sources: []string{source(name)}, left: true, part: twins}
	}); err != nil {
		return nil, err
	}
	return b, s.awaitRollout(ctx, b.twins, twins)
}

// write is one PATCH that is ready to be sent.
type write struct {
	key   workload.Key
	patch kinds.Patch
}

// prepare makes the PATCHes that the controller would send for another content of a source, each as
// long as the one that it last sent to the original.
func (b *bare) prepare(names []string, src func(name string) string) ([]write, error) {
	sum := sha1.Sum(fmt.Append(nil, b.round.Add(1)))
	mark := hex.EncodeToString(sum[:])
	var writes []write
	for _, name := range names {
		original, err := b.originals.deployment(name)
		if err != nil {
			return nil, err
		}
		twin, err := b.twins.deployment(name)
		if err != nil {
			return nil, err
		}
		w, err := b.kind.Read(twin, annotations.DefaultNames())
		if err != nil {
			return nil, err
		}
		ledger := original.Annotations[annotations.Ledger]
		if ledger == "" {
			return nil, fmt.Errorf("deployment %s has no ledger, so the size of its PATCH is not known", name)
		}
		patch, err := b.kind.Patch(&w, likeLedger(ledger, string(original.UID), string(twin.UID), mark), &workload.Marking{Env: []workload.EnvMark{{
			Container: w.Containers[0],
			Variable:  workload.EnvVarName(source.Key{Kind: source.ConfigMap, Namespace: twin.Namespace, Name: src(name)}),
			Value:     mark,
		}}}, annotations.DefaultNames())
		if err != nil {
			return nil, err
		}
		writes = append(writes, write{key: w.Key, patch: patch})
	}
	return writes, nil
}

// likeLedger turns the ledger of a workload into one of its twin, with other digests.
func likeLedger(ledger, uid, twin, mark string) string {
	return regexp.MustCompile(`"[0-9a-f]{32}"`).ReplaceAllString(strings.ReplaceAll(ledger, uid, twin), `"`+mark[:32]+`"`)
}

// send sends one and returns how long the answer took.
func (b *bare) send(ctx context.Context, w write) (time.Duration, error) {
	began := time.Now()
	if _, err := b.client.Patch(ctx, b.kind, w.key, w.patch); err != nil {
		return 0, fmt.Errorf("patch %s: %w", w.key, err)
	}
	return time.Since(began), nil
}

// sendAll sends all of them with so many in flight at a time.
func (b *bare) sendAll(ctx context.Context, writes []write, writers int) error {
	return eachWith(ctx, writers, writes, func(ctx context.Context, w write) error {
		_, err := b.send(ctx, w)
		return err
	})
}
