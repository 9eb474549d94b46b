package main

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
