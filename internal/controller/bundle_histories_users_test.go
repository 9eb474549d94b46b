package controller

import (
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// bundleUse is what the volumes of a workload project.
type bundleUse struct {
	sources  []simapi.Source
	optional bool
}

const internalSigner = "example.com/internal"

var (
	companyBundle = simapi.Source{Resource: simapi.BundleResource, Name: "company"}
	liveBundles   = simapi.Source{Resource: simapi.BundleResource, Name: internalSigner + "{stage=live}"}
	nextBundles   = simapi.Source{Resource: simapi.BundleResource, Name: internalSigner + "{stage=next}"}
	allBundles    = simapi.Source{Resource: simapi.BundleResource, Name: internalSigner + "{<none>}"}
)

func bundleSources() []simapi.Source {
	return []simapi.Source{companyBundle, liveBundles, nextBundles, allBundles}
}

func projectionOf(src simapi.Source, optional bool) corev1.VolumeProjection {
	p := &corev1.ClusterTrustBundleProjection{Path: fmt.Sprintf("%x.pem", src.Name), Optional: &optional}
	signer := internalSigner
	switch src {
	case companyBundle:
		p.Name = &src.Name
	case liveBundles:
		p.SignerName, p.LabelSelector = &signer, &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "live"}}
	case nextBundles:
		p.SignerName, p.LabelSelector = &signer, &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "next"}}
	default:
		p.SignerName, p.LabelSelector = &signer, &metav1.LabelSelector{}
	}
	return corev1.VolumeProjection{ClusterTrustBundle: p}
}

func (u bundleUse) apply(spec *corev1.PodSpec) {
	spec.Containers[0].EnvFrom = nil
	projected := &corev1.ProjectedVolumeSource{}
	for _, src := range u.sources {
		projected.Sources = append(projected.Sources, projectionOf(src, u.optional))
	}
	spec.Volumes = []corev1.Volume{{Name: "trust", VolumeSource: corev1.VolumeSource{Projected: projected}}}
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "trust", MountPath: "/trust"}}
}

func (h *bundleHistory) draw() bundleUse {
	uses := [][]simapi.Source{{companyBundle}, {liveBundles}, {allBundles}, {companyBundle, liveBundles}, {liveBundles, nextBundles}, bundleSources()}
	return bundleUse{sources: uses[h.rand.IntN(len(uses))], optional: h.rand.IntN(2) == 0}
}

func (h *bundleHistory) create(namespace, name string) {
	w := &trusting{key: workload.Key{Kind: "Deployment", Namespace: namespace, Name: name}, use: h.draw(), adopted: map[simapi.Source]bool{}, kept: map[simapi.Source]bool{}, left: certificatesOf{}, ledger: certificatesOf{}, renewed: map[simapi.Source]bool{}, forgotten: map[simapi.Source]bool{}, owed: map[simapi.Source]bool{}}
	d := webDeployment()
	d.Namespace, d.Name, d.Spec.Replicas = namespace, name, new(int32(2))
	w.use.apply(&d.Spec.Template.Spec)
	if _, err := h.server.Create(d, "kubectl"); err != nil {
		h.t.Fatal(err)
	}
	h.workloads = append(h.workloads, w)
}

// drawn are certificates of a bundle: new ones, or some that other bundles may have, too.
func (h *bundleHistory) drawn() []string {
	if h.rand.IntN(2) == 0 {
		h.certificates++
		return []string{fmt.Sprintf("new-%d", h.certificates)}
	}
	all := []string{"p", "q", "r", "s"}
	h.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+h.rand.IntN(3)]
}

func (h *bundleHistory) label(obj simapi.Object) {
	labels := []map[string]string{{"stage": "live"}, {"stage": "live"}, {"stage": "next"}, nil}
	obj.SetLabels(labels[h.rand.IntN(len(labels))])
}

// bundle makes users write one bundle.
func (h *bundleHistory) bundle(name string) {
	at := types.NamespacedName{Name: name}
	_, err := h.server.Get(simapi.BundleResource, at)
	edit := func(what string, do func(simapi.Object)) {
		h.write(what+" "+name, func() error {
			_, err := h.server.Edit(simapi.BundleResource, at, []string{"kubectl", "trust-manager"}[h.rand.IntN(2)], do)
			return err
		})
	}
	switch n := h.rand.IntN(20); {
	case err != nil:
		signer := internalSigner
		if name == companyBundle.Name {
			signer = ""
		}
		h.write("creates "+name, func() error {
			made := simapi.NewBundle(name, signer, h.drawn())
			h.label(made)
			_, err := h.server.Create(made, "trust-manager")
			return err
		})
	case n < 8:
		edit("edits", func(obj simapi.Object) { simapi.SetCertificates(obj, h.drawn()) })
	case n < 13:
		edit("relabels", h.label)
	case n < 15:
		edit("annotates", func(obj simapi.Object) { obj.SetAnnotations(map[string]string{"note": fmt.Sprint(h.rand.Int())}) })
	default:
		h.write("deletes "+name, func() error { return h.server.Delete(simapi.BundleResource, at) })
	}
}

// change lets the template of a workload project something else.
func (h *bundleHistory) change(w *trusting) {
	before := w.use
	w.use = h.draw()
	h.steps += 2 // a rollout that is not ours
	_, err := h.server.Edit("deployments", w.name(), "helm", func(obj simapi.Object) {
		spec := &obj.(*appsv1.Deployment).Spec.Template.Spec
		w.use.apply(spec)
		spec.Containers[0].Image = fmt.Sprint("web:", h.server.Version()) // no template comes back
	})
	if err != nil {
		h.t.Fatal(err)
	}
	gone := func(src simapi.Source, _ bool) bool {
		return !slices.Contains(before.sources, src) || !slices.Contains(w.use.sources, src)
	}
	for src, is := range w.ledger {
		if gone(src, false) {
			w.left[src] = is
		}
	}
	maps.DeleteFunc(w.adopted, gone)
	maps.DeleteFunc(w.kept, gone)
	maps.DeleteFunc(w.ledger, func(src simapi.Source, _ string) bool { return gone(src, false) })
	maps.DeleteFunc(w.renewed, gone)
	maps.DeleteFunc(w.owed, gone)
	now := h.present()
	for _, src := range w.use.sources {
		is, had := w.left[src]
		if _, exists := now[src]; had && !exists && !h.onDelete {
			w.kept[src], w.ledger[src] = true, is
		}
	}
	w.doubt = w.doubt || h.inGap() || slices.ContainsFunc(h.events, isBundle)
	w.mayBeBack = w.mayBeBack || h.mayBeBack(w)
	w.chosenAt, w.chosenIn, w.rolled, w.recorded = h.server.Now(), 0, h.server.Version(), nil
	if slices.ContainsFunc(w.use.sources, func(src simapi.Source) bool { return src != companyBundle && gone(src, false) }) {
		w.chosenIn = h.server.Version()
	}
	h.say("user: %s projects %v, optional %t", w.key, w.use.sources, w.use.optional)
}

func (h *bundleHistory) step() {
	switch n := h.rand.IntN(20); {
	case n < 11:
		h.bundle([]string{"company", "a", "b", "c"}[h.rand.IntN(4)])
	case n < 13:
		h.change(h.workloads[h.rand.IntN(len(h.workloads))])
	case n < 15:
		h.gap("no controller runs")
		h.stop()
	case n < 16:
		h.gap("bundles are not served")
		h.served, h.cut = false, true
		h.lose()
	case n < 17 && h.up:
		h.gap("the watch of bundles is cut")
		h.cut = true
		h.lose()
	case n < 18 && h.up && h.cut:
		h.served = true
		h.snapshot(h.work)
	case n < 19 && !h.up:
		h.start()
	}
	if h.rand.IntN(3) > 0 {
		h.elapse(time.Duration(h.rand.IntN(20)) * 500 * time.Millisecond)
	}
	if h.up && !h.served {
		h.answered(apierrors.NewNotFound(kubeapi.TrustBundleVersions()[0].GroupResource(), ""))
	}
}
