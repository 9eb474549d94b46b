package controller

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/test/simapi"
)

// optional is the optional field of a new reference.
func (u *users) optional() *bool {
	if !u.h.optional {
		return nil
	}
	return new(u.h.rand.IntN(2) == 0)
}

// refer adds a reference: to ConfigMaps by volumes, to Secrets by the environment.
func refer(t *corev1.PodTemplateSpec, src simapi.Source, optional *bool) {
	if src.Resource == "secrets" {
		t.Spec.Containers[0].EnvFrom = append(t.Spec.Containers[0].EnvFrom, corev1.EnvFromSource{
			SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: src.Name}, Optional: optional},
		})
		return
	}
	t.Spec.Volumes = append(t.Spec.Volumes, corev1.Volume{Name: src.Name, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: src.Name}, Optional: optional},
	}})
	t.Spec.Containers[1].VolumeMounts = append(t.Spec.Containers[1].VolumeMounts, corev1.VolumeMount{Name: src.Name, MountPath: "/" + src.Name})
}

// leave removes a reference.
func leave(t *corev1.PodTemplateSpec, src simapi.Source) {
	app, side := &t.Spec.Containers[0], &t.Spec.Containers[1]
	if src.Resource == "secrets" {
		app.EnvFrom = slices.DeleteFunc(app.EnvFrom, func(e corev1.EnvFromSource) bool { return e.SecretRef.Name == src.Name })
		return
	}
	t.Spec.Volumes = slices.DeleteFunc(t.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == src.Name })
	side.VolumeMounts = slices.DeleteFunc(side.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == src.Name })
}

func templateOf(obj simapi.Object) *corev1.PodTemplateSpec {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *batchv1.Job:
		return &o.Spec.Template
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template
	default:
		return nil
	}
}

// mayHaveReturned reports whether the last rollout by another client restored a template with Pods
// from before, or whether that is unknown because not all earlier rollouts were seen.
func (o *oracle) mayHaveReturned(w *workloadTruth) bool { return w.returned || o.lastGap > w.before }
