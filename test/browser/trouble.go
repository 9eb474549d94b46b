package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/harness"
)

// Long is a name as long as a name can be.
var Long = strings.Repeat("long-name.", 25) + "cfg" //nolint:gochecknoglobals // a constant

// Hostile is a text that would do harm as markup.
const Hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`

// rightToLeft turns the direction of the text after it.
const rightToLeft = "\u202egnol\u202c ההקפאה"

// Deployment is a Deployment that uses a ConfigMap or Secret.
func Deployment(name, kind, source string, replicas int, annotations ...string) string {
	reference := map[string]string{"ConfigMap": "configMapRef", "Secret": "secretRef"}[kind]
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  annotations:
    reloader.stakater.com/auto: "true"%[2]s
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers: [{name: main, image: registry.example.com/app, envFrom: [{%[4]s: {name: %[5]s}}]}]
`, name, lines(annotations), replicas, reference, source)
}

// Source is a ConfigMap or a Secret.
func Source(name, kind string, annotations ...string) string {
	field := map[string]string{"ConfigMap": "data", "Secret": "stringData"}[kind]
	return fmt.Sprintf("---\napiVersion: v1\nkind: %s\nmetadata:\n  name: %s\n  annotations:\n    team: example%s\n%s: {key: before-the-edit}\n", kind, name, lines(annotations), field)
}

// lines are annotations of a manifest, given as name and value in turn.
func lines(annotations []string) string {
	var b strings.Builder
	for i := 0; i < len(annotations); i += 2 {
		fmt.Fprintf(&b, "\n    %s: %q", annotations[i], annotations[i+1])
	}
	return b.String()
}

// Trouble is what the tests look at: each state, and names and texts that do harm if they can.
func Trouble(ctx context.Context, s *Scene) error {
	shop := Source("greeting", "ConfigMap") + Source("limits", "ConfigMap") + Source(Long, "ConfigMap") + Source("password", "Secret") +
		Deployment("web", "ConfigMap", "greeting", 3) +
		Deployment("api", "Secret", "password", 2) +
		Deployment("checkout", "ConfigMap", "limits", 2, "reroll.dev/approval", "required") +
		Deployment("nightly", "ConfigMap", "limits", 2, "reroll.dev/window", closed()) +
		Deployment("hostile", "ConfigMap", Long, 1, "reroll.dev/window", Hostile) +
		Deployment("orphan", "ConfigMap", "not-there", 1)
	bank := Source("vault", "Secret") + Deployment("accounts", "Secret", "vault", 2)
	if err := errors.Join(s.Shop.Apply(ctx, shop), s.Bank.Apply(ctx, bank)); err != nil {
		return err
	}
	if err := errors.Join(Adopted(ctx, s.Shop, "web", "api", "checkout", "nightly", "hostile"), Adopted(ctx, s.Bank, "accounts")); err != nil {
		return err
	}
	for name, manager := range map[string]string{"greeting": "kubectl", "limits": "kubectl", Long: `<b id="owned">x`} {
		if err := s.Edit(ctx, name, "after-the-edit", manager); err != nil {
			return err
		}
	}
	if err := s.Shop.AwaitRolls(ctx, harness.Ref{Kind: "deployment", Name: "web"}, 1); err != nil {
		return err
	}
	return s.Freeze(ctx, s.Bank.Name, rightToLeft, Hostile)
}

// closed is a window that opens in three days, whenever the scene is built.
func closed() string {
	day := time.Now().UTC().AddDate(0, 0, 3).Weekday().String()
	return "allow 03:00-03:01 " + strings.ToLower(day[:3]) + " UTC"
}

// Adopted waits until Deployments have ledgers.
func Adopted(ctx context.Context, in *harness.Namespace, names ...string) error {
	for _, name := range names {
		if err := in.AwaitAdopted(ctx, harness.Ref{Kind: "deployment", Name: name}); err != nil {
			return err
		}
	}
	return nil
}

// Freeze freezes the reloads of a namespace for a day.
func (s *Scene) Freeze(ctx context.Context, namespace, by, reason string) error {
	freeze, err := json.Marshal(map[string]string{"until": time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339), "by": by, "reason": reason})
	if err != nil {
		return err
	}
	change, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{"reroll.dev/freeze": string(freeze)}}})
	if err != nil {
		return err
	}
	_, err = s.admin.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, change, metav1.PatchOptions{})
	return err
}
