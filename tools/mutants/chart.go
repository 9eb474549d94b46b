package main

import (
	"bytes"
	"os"
	"path/filepath"
)

// chart are mutations of the templates of the Helm chart.
func chart() []mutation {
	const templates, rendered = "charts/reroll/templates/", "./test/chart"
	return []mutation{
		{
			what: "chart: Secrets are readable where they are ignored",
			file: templates + "_helpers.tpl",
			from: "{{ if not .Values.reloader.ignoreSecrets }}secrets{{ end }}", to: "secrets",
			in: rendered, tests: "^TestNoPermissionForWhatIsIgnored$",
		},
		{
			what: "chart: Jobs may be deleted where they are ignored",
			file: templates + "_helpers.tpl",
			from: "  resources: [jobs]\n  verbs: [list, watch, create, patch]\n", to: "  resources: [jobs]\n  verbs: [list, watch, create, patch, delete]\n",
			in: rendered, tests: "^TestPermissionsToJobsWhereTheyOrCronJobsAreIgnored$",
		},
		{
			what: "chart: all namespaces are readable where one is watched",
			file: templates + "clusterrole.yaml",
			from: "{{- if and .Values.reloader.rbac.enabled (not (include \"reroll.scope\" .)) }}", to: "{{- if .Values.reloader.rbac.enabled }}",
			in: rendered, tests: "^TestPermissionsFollowWhatIsWatched$",
		},
		{
			what: "chart: a root filesystem that is to be read-only is not",
			file: templates + "_pod.tpl",
			from: "(dict \"readOnlyRootFilesystem\" true)", to: "dict",
			in: rendered, tests: "^TestAReadOnlyRootFilesystemHasRoomForTemporaryFiles$",
		},
		{
			what: "chart: replicas without leader election are accepted",
			file: templates + "_checks.tpl",
			from: "(gt (int $deployment.replicas) 1)", to: "(gt (int $deployment.replicas) 9)",
			in: rendered, tests: "^TestRefusals$",
		},
		{
			what: "chart: an image of Reloader is accepted",
			file: templates + "_image.tpl",
			from: "(stakater-)?reloader(-ubi)?$", to: "(stakater-)?reloader-ubi$",
			in: rendered, tests: "^TestAnImageOfReloaderIsRefusedWithTheLinesToChange$",
		},
		{
			what: "chart: a budget of the user lets no Pod go beside a budget of 1",
			file: templates + "poddisruptionbudget.yaml",
			from: "  {{- else if include \"reroll.given\" $budget.minAvailable }}\n", to: "  {{- else if false }}\n",
			in: rendered, tests: "^TestPodDisruptionBudget$",
		},
	}
}

// isRead reports whether tests read the file when they run, so that no build contains it.
func (m mutation) isRead() bool { return filepath.Ext(m.file) != ".go" }

// tree makes a repository in which a file that tests read has the mutation, and returns the folder of
// the tests in it. All else is linked.
func (m mutation) tree(folder string) (string, error) {
	tests := filepath.Join(folder, m.in)
	if err := os.MkdirAll(tests, 0o700); err != nil {
		return "", err
	}
	for _, into := range []string{".", filepath.Dir(m.in), m.in} {
		if err := link(into, filepath.Join(folder, into)); err != nil {
			return "", err
		}
	}
	top, _, _ := bytes.Cut([]byte(m.file), []byte("/"))
	copied := filepath.Join(folder, string(top))
	if err := os.Remove(copied); err != nil {
		return "", err
	}
	if err := os.CopyFS(copied, os.DirFS(string(top))); err != nil {
		return "", err
	}
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	return tests, os.WriteFile(filepath.Join(folder, m.file), bytes.Replace(text, []byte(m.from), []byte(m.to), 1), 0o600)
}

// link links what a folder contains into another one, unless it is there.
func link(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := filepath.Join(to, e.Name())
		if _, err := os.Lstat(at); err == nil {
			continue
		}
		original, err := filepath.Abs(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.Symlink(original, at); err != nil {
			return err
		}
	}
	return nil
}
