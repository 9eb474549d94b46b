package inspect

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/rules"
)

func TestHowAKindMayBeWritten(t *testing.T) {
	added, err := kinds.ParseAdded("example.org/v1/Pool")
	if err != nil {
		t.Fatal(err)
	}
	known := (&Settings{Rules: rules.Settings{Kinds: kinds.All(added)}}).workloadKinds()
	for word, want := range map[string]string{
		"deployment": "Deployment", "Deployments": "Deployment", "deploy": "Deployment", "deployments.apps": "Deployment", "deployment.v1.apps": "Deployment",
		"sts": "StatefulSet", "statefulset": "StatefulSet", "statefulsets.apps": "StatefulSet", "sts.apps.kruise.io": "StatefulSet.apps.kruise.io",
		"StatefulSet.apps.kruise.io": "StatefulSet.apps.kruise.io", "statefulsets.v1beta1.apps.kruise.io": "StatefulSet.apps.kruise.io",
		"rollout": "Rollout", "rollouts.argoproj.io": "Rollout", "cloneset": "CloneSet", "clonesets.apps.kruise.io": "CloneSet",
		"service": "Service.serving.knative.dev", "services.serving.knative.dev": "Service.serving.knative.dev",
		"pool": "Pool.example.org", "pools": "Pool.example.org", "pool.example.org": "Pool.example.org",
		"deployments.example.org": "", "pool.apps": "", "job": "Job", "jobs.batch": "Job", "replicaset": "", "": "", ".": "", "deployment.": "",
	} {
		if got, ok := known.find(word); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", word, got, ok)
		}
	}
}
