// Package metainfo writes what runs here, and its settings, for tools that read it where Reloader
// puts it.
package metainfo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/permissions"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Name is the ConfigMap.
const Name = "reloader-meta-info"

const (
	labelKey   = "reloader.stakater.com/meta-info"
	labelValue = "reloader"

	// Selector finds it, in whatever namespace it is.
	Selector = labelKey + "=" + labelValue
)

// Info is what is written.
type Info struct {
	Build buildinfo.Info
	// Options are those that Reloader has too, by its names for them.
	Options map[string]any
	// Namespace and Deployment are where the controller is installed.
	Namespace, Deployment string
	// IgnoreAnnotation keeps a change of the ConfigMap from rolling anything.
	IgnoreAnnotation string
	// Instance is the ID of the digest key, which is in every ledger of this installation.
	Instance string
}

// Instance returns the ID of the digest key of the installation that wrote a ConfigMap; false if it
// is not from Reroll. By it, other installations know who wrote a ledger.
func Instance(cm *corev1.ConfigMap) (string, bool) {
	id, ok := cm.Annotations[annotations.Instance]
	return id, ok && id != "" && cm.Name == Name && cm.Labels[labelKey] == labelValue
}

// Permissions are what it takes. RBAC cannot narrow create to a name.
func Permissions(namespace string) []permissions.Permission {
	about := permissions.Permission{Namespace: namespace, Resource: "configmaps", Without: "the ConfigMap " + Name + " is not written"}
	create, get, update := about, about, about
	create.Verb = "create"
	get.Verb, get.Name = "get", Name
	update.Verb, update.Name = "update", Name
	return []permissions.Permission{create, get, update}
}

// Write brings the ConfigMap up to date. One that is so already is not written.
func Write(ctx context.Context, client clientset.Interface, info Info) error {
	wanted, err := info.configMap()
	if err != nil {
		return err
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error { return write(ctx, client, wanted) })
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", info.Namespace, Name, err)
	}
	return nil
}

func write(ctx context.Context, client clientset.Interface, wanted *corev1.ConfigMap) error {
	own := client.ConfigMaps(wanted.Namespace)
	present, err := own.Get(ctx, Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = own.Create(ctx, wanted, metav1.CreateOptions{FieldManager: workload.FieldManager})
	case err == nil && !complete(present, wanted):
		_, err = own.Update(ctx, present, metav1.UpdateOptions{FieldManager: workload.FieldManager})
	}
	return err
}

// complete puts all that is wanted into what is present, and reports whether it was there already.
// What others have added stays.
func complete(present, wanted *corev1.ConfigMap) bool {
	before := present.DeepCopy()
	for _, part := range []struct{ of, from *map[string]string }{
		{&present.Data, &wanted.Data}, {&present.Labels, &wanted.Labels}, {&present.Annotations, &wanted.Annotations},
	} {
		if *part.of == nil {
			*part.of = map[string]string{}
		}
		maps.Copy(*part.of, *part.from)
	}
	return maps.Equal(before.Data, present.Data) && maps.Equal(before.Labels, present.Labels) && maps.Equal(before.Annotations, present.Annotations)
}

func (i Info) configMap() (*corev1.ConfigMap, error) {
	cm := i.empty()
	if i.Instance != "" {
		cm.Annotations[annotations.Instance] = i.Instance
	}
	for key, value := range map[string]any{
		"buildInfo":       build(i.Build),
		"reloaderOptions": i.Options,
		"deploymentInfo":  map[string]string{"name": i.Deployment, "namespace": i.Namespace},
	} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("write down %s: %w", key, err)
		}
		cm.Data[key] = string(text)
	}
	return cm, nil
}

// Version returns the version of the controller, or empty if the ConfigMap does not have it.
func Version(info *corev1.ConfigMap) string {
	var known buildInfo
	if json.Unmarshal([]byte(info.Data["buildInfo"]), &known) != nil {
		return ""
	}
	return known.ReleaseVersion
}

// empty is the ConfigMap without anything in it.
func (i Info) empty() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: Name, Namespace: i.Namespace,
			Labels:      map[string]string{labelKey: labelValue},
			Annotations: map[string]string{i.IgnoreAnnotation: "true"},
		},
		Data: map[string]string{},
	}
}

// buildInfo is how the binary was made. A commit is known if it was built from a git repository.
type buildInfo struct {
	GoVersion      string    `json:"goVersion"`
	ReleaseVersion string    `json:"releaseVersion"`
	CommitHash     string    `json:"commitHash"`
	CommitTime     time.Time `json:"commitTime"`
}

func build(of buildinfo.Info) buildInfo {
	return buildInfo{GoVersion: of.Go, ReleaseVersion: of.Version, CommitHash: of.Commit, CommitTime: of.Date}
}
