package controller

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/permissions"
	"github.com/reroll-dev/reroll/internal/workload"
)

const (
	// DigestKeyName is the Secret that holds the key. The controller creates it at run time. A
	// manifest must not: if it rendered a new key at each sync, every Secret would look changed.
	DigestKeyName = "reroll-digest-key"
	digestKeyItem = "key"
)

// KeyPermissions are the permissions for the key. RBAC cannot restrict create to a name.
func KeyPermissions(namespace string, dryRun bool) []permissions.Permission {
	all := []permissions.Permission{{Namespace: namespace, Resource: "secrets", Verb: "get", Name: DigestKeyName}}
	if !dryRun {
		all = append(all, permissions.Permission{
			Namespace: namespace, Resource: "secrets", Verb: "create",
			Without: "the digest key for Secrets cannot be created if it does not exist",
		})
	}
	return all
}

// LoadDigestKey reads the key for the digests of Secrets, and creates the key if it does not exist.
// It never changes an existing key. It also returns when the key was created. A dry run that finds no
// key gets no time.
func LoadDigestKey(ctx context.Context, client clientset.Interface, namespace string, dryRun bool) (digest.Key, time.Time, error) {
	secrets := client.Secrets(namespace)
	secret, err := secrets.Get(ctx, DigestKeyName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		random := make([]byte, 32)
		_, _ = rand.Read(random) // never fails
		if dryRun {
			key, err := digest.NewKey(random)
			return key, time.Time{}, err
		}
		secret, err = secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name: DigestKeyName,
				Annotations: map[string]string{
					annotations.About: "Reroll uses this key for its digests of Secrets. Without it, the next start cannot detect which Secrets changed while the controller was down.",
				},
			},
			Data: map[string][]byte{digestKeyItem: random},
		}, metav1.CreateOptions{FieldManager: workload.FieldManager})
		if apierrors.IsAlreadyExists(err) { // another replica has just created it
			secret, err = secrets.Get(ctx, DigestKeyName, metav1.GetOptions{})
		}
	}
	if err != nil {
		return digest.Key{}, time.Time{}, fmt.Errorf("read or create the digest key, Secret %s/%s: %w", namespace, DigestKeyName, err)
	}
	key, err := digest.NewKey(secret.Data[digestKeyItem])
	if err != nil {
		return digest.Key{}, time.Time{}, fmt.Errorf("the digest key, Secret %s/%s, item %q: %w; to create a new key, delete the Secret",
			namespace, DigestKeyName, digestKeyItem, err)
	}
	return key, secret.CreationTimestamp.Time, nil
}
