{{- /*
What NOTES warns of: values that have no effect here, and some that may have one that nobody wants. A list.
*/ -}}
{{- define "reroll.warnings" -}}
{{- $reloader := .Values.reloader -}}
{{- $list := list -}}
{{- if .Values.kubernetes -}}
{{- $list = append $list "kubernetes has no effect: the API server is that of the cluster." -}}
{{- end -}}
{{- if $reloader.legacy -}}
{{- $list = append $list "reloader.legacy has no effect: the rights are those of every supported cluster." -}}
{{- end -}}
{{- if $reloader.syncAfterRestart -}}
{{- $list = append $list "reloader.syncAfterRestart has no effect: changes made while the controller was away are always caught." -}}
{{- end -}}
{{- $image := include "reroll.imageParts" . | fromYaml -}}
{{- if and $reloader.deployment.image (eq $image.at "image") -}}
{{- $list = append $list "reloader.deployment.image has no effect: image says which one is used." -}}
{{- end -}}
{{- if include "reroll.scope" . -}}
{{- range $key := list "ignoreNamespaces" "namespaceSelector" -}}
{{- if get $reloader $key -}}
{{- $list = append $list (printf "reloader.%s has no effect: it counts only where all namespaces are watched." $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (not $reloader.enablePProf) (not (has $reloader.pprofAddr (list nil "" ":6060"))) -}}
{{- $list = append $list "reloader.pprofAddr has no effect while reloader.enablePProf is false." -}}
{{- end -}}
{{- $budget := $reloader.podDisruptionBudget -}}
{{- if and $budget.enabled (not (include "reroll.given" $budget.maxUnavailable)) (ge (int $budget.minAvailable) (int $reloader.deployment.replicas)) (not (hasSuffix "%" (toString $budget.minAvailable))) (include "reroll.given" $budget.minAvailable) -}}
{{- $list = append $list (printf "reloader.podDisruptionBudget.minAvailable is %v with %v replicas: the nodes they run on cannot be drained." $budget.minAvailable $reloader.deployment.replicas) -}}
{{- end -}}
{{- toYaml $list -}}
{{- end -}}

{{- /*
How many workloads there are if none of them is opted in; else, and without a cluster to look at, nothing. Whoever may give
the controller the right to list them may list them. An upgrade gives it nothing, and may be done by somebody with fewer
rights, whom a question would stop: so nobody looks where Reroll has run before.
*/ -}}
{{- define "reroll.idle" -}}
{{- $reloader := .Values.reloader -}}
{{- $before := lookup "v1" "Secret" (include "reroll.namespace" .) "reroll-digest-key" -}}
{{- if and $reloader.rbac.enabled (not $reloader.autoReloadAll) (not $before) -}}
{{- $own := default dict $reloader.custom_annotations -}}
{{- $keys := list -}}
{{- range $key, $usual := dict "auto" "reloader.stakater.com/auto" "configmap_auto" "configmap.reloader.stakater.com/auto" "secret_auto" "secret.reloader.stakater.com/auto" "search" "reloader.stakater.com/search" "configmap" "configmap.reloader.stakater.com/reload" "secret" "secret.reloader.stakater.com/reload" -}}
{{- $keys = append $keys (default $usual (get $own $key)) -}}
{{- end -}}
{{- $kinds := list (list "apps/v1" "Deployment") (list "apps/v1" "StatefulSet") (list "apps/v1" "DaemonSet") -}}
{{- if and (include "reroll.argoRollouts" .) (.Capabilities.APIVersions.Has "argoproj.io/v1alpha1/Rollout") -}}
{{- $kinds = append $kinds (list "argoproj.io/v1alpha1" "Rollout") -}}
{{- end -}}
{{- $all := 0 -}}
{{- $optedIn := false -}}
{{- range $namespace := splitList "," (include "reroll.scope" .) -}}
{{- range $kinds -}}
{{- range default list (get (lookup (index . 0) (index . 1) $namespace "") "items") -}}
{{- $all = add1 $all -}}
{{- $given := merge dict (dig "metadata" "annotations" dict .) (dig "spec" "template" "metadata" "annotations" dict .) -}}
{{- range $keys -}}
{{- if not (has (get $given . | lower) (list "" "false" "f" "0")) -}}
{{- $optedIn = true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $all (not $optedIn) -}}
{{- $all -}}
{{- end -}}
{{- end -}}
{{- end -}}
