package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/reroll-dev/reroll/test/checkout"

	// What is built here is no input that go test knows of. Without this, a test that passed once
	// would be taken from the cache after any change of the controller.
	_ "github.com/reroll-dev/reroll/internal/cli"
)

// RaceDetector is the variable for a program that was built with the race detector: it ends at the
// first race, and does not sleep for the usual second before each exit.
const RaceDetector = "GORACE=halt_on_error=1 atexit_sleep_ms=0"

// ForTests returns the path of the controller that tests start. A run of many packages builds it once,
// and names it with REROLL_BINARY. Without that, it is built into a folder, and reports data races.
func ForTests(ctx context.Context, folder string) (string, error) {
	if built := os.Getenv("REROLL_BINARY"); built != "" {
		return built, nil
	}
	return Build(ctx, folder, true)
}

// Build builds the controller into a folder and returns its path. With race it reports data races
// (see RaceDetector).
func Build(ctx context.Context, folder string, race bool) (string, error) {
	root, err := checkout.Root()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(folder, "reroll")
	args := []string{"build", "-o", binary}
	if race {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/reroll")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the controller: go build ./cmd/reroll: %w\n%s", err, out)
	}
	return binary, nil
}

// ShippedManifest is the path of the plain YAML that installs the controller for one namespace.
func ShippedManifest() (string, error) { return checkout.Path("deploy", "reroll-namespaced.yaml") }

// ShippedForAllNamespaces is that of one that watches all namespaces, for who has a cluster alone.
func ShippedForAllNamespaces() (string, error) { return checkout.Path("deploy", "reroll.yaml") }

// ShippedForArgoRollouts is the same for a cluster with Argo Rollouts.
func ShippedForArgoRollouts() (string, error) {
	return checkout.Path("deploy", "reroll-argo-rollouts-namespaced.yaml")
}

// ShippedForCSI is the same for a cluster with the Secrets Store CSI driver.
func ShippedForCSI() (string, error) { return checkout.Path("deploy", "reroll-csi-namespaced.yaml") }

// ShippedForTrustBundles is the one for all namespaces of a cluster with ClusterTrustBundles.
func ShippedForTrustBundles() (string, error) {
	return checkout.Path("deploy", "reroll-trust-bundles.yaml")
}

// ShippedForReferenceGrants is the one for all namespaces of a cluster with ReferenceGrants.
func ShippedForReferenceGrants() (string, error) {
	return checkout.Path("deploy", "reroll-reference-grants.yaml")
}

// ShippedManifests are the paths of all of them, those for all namespaces too.
func ShippedManifests() ([]string, error) {
	all, err := checkout.Path("deploy", "reroll*.yaml")
	if err != nil {
		return nil, err
	}
	return filepath.Glob(all)
}

// ShippedForEverything is the one for all namespaces of a cluster with Argo Rollouts.
func ShippedForEverything() (string, error) {
	return checkout.Path("deploy", "reroll-argo-rollouts.yaml")
}

// ShippedPolicy is the path of the admission policy that goes with any of them.
func ShippedPolicy() (string, error) { return checkout.Path("deploy", "admission-policy.yaml") }
