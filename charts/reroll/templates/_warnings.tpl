{{- /*
The warnings of NOTES, as a list: values that have no effect here, and values that may have an unwanted effect.
*/ -}}
{{- define "reroll.warnings" -}}
{{- $reloader := .Values.reloader -}}
{{- $list := list -}}
{{- if .Values.kubernetes -}}
{{- $list = append $list "kubernetes has no effect: the API server is that of the cluster." -}}
{{- end -}}
{{- if (default dict .Values.global).host -}}
{{- $list = append $list "global.host has no effect on Reroll: the API server is that of the cluster." -}}
{{- end -}}
{{- if .Values.enterprise -}}
{{- $list = append $list "enterprise has no effect: Reroll has no enterprise edition, and reads no value below it." -}}
{{- end -}}
{{- if $reloader.legacy -}}
{{- $list = append $list "reloader.legacy has no effect: the permissions are the same on every supported cluster." -}}
{{- end -}}
{{- if $reloader.syncAfterRestart -}}
{{- $list = append $list "reloader.syncAfterRestart has no effect: Reroll always detects changes that were made while the controller was down." -}}
{{- end -}}
{{- $image := include "reroll.imageParts" . | fromYaml -}}
{{- if and $reloader.deployment.image (eq $image.at "image") -}}
{{- $list = append $list "reloader.deployment.image has no effect: image sets the image." -}}
{{- end -}}
{{- if include "reroll.namedReloader" $image -}}
{{- $list = append $list (printf "the image %s is named like Reloader's: check that it contains Reroll." (include "reroll.image" .)) -}}
{{- end -}}
{{- if include "reroll.scope" . -}}
{{- range $key := list "ignoreNamespaces" "namespaceSelector" -}}
{{- if get $reloader $key -}}
{{- $list = append $list (printf "reloader.%s has no effect: it applies only if all namespaces are watched." $key) -}}
{{- end -}}
{{- end -}}
{{- if $reloader.enableClusterTrustBundles -}}
{{- $list = append $list "reloader.enableClusterTrustBundles has no effect: it needs a ClusterRole, which this chart creates only if all namespaces are watched." -}}
{{- end -}}
{{- end -}}
{{- if and (not $reloader.enablePProf) (not (has $reloader.pprofAddr (list nil "" ":6060"))) -}}
{{- $list = append $list "reloader.pprofAddr has no effect while reloader.enablePProf is false." -}}
{{- end -}}
{{- $ui := default dict $reloader.ui -}}
{{- $ingress := default dict $ui.ingress -}}
{{- if and $ingress.enabled (not $ui.enabled) -}}
{{- $list = append $list "reloader.ui.ingress has no effect while reloader.ui.enabled is false." -}}
{{- else if and $ingress.enabled (not $ingress.tlsSecret) -}}
{{- $list = append $list "reloader.ui.ingress has no tlsSecret: unless TLS ends elsewhere, readers send their token in plain text." -}}
{{- end -}}
{{- $budget := $reloader.podDisruptionBudget -}}
{{- if and $budget.enabled (not (include "reroll.given" $budget.maxUnavailable)) (ge (int $budget.minAvailable) (int $reloader.deployment.replicas)) (not (hasSuffix "%" (toString $budget.minAvailable))) (include "reroll.given" $budget.minAvailable) -}}
{{- $list = append $list (printf "reloader.podDisruptionBudget.minAvailable is %v with %v replicas: their nodes cannot be drained." $budget.minAvailable $reloader.deployment.replicas) -}}
{{- end -}}
{{- toYaml $list -}}
{{- end -}}

{{- /*
The number of workloads if none of them is opted in; otherwise, and without a cluster, nothing. A user who may grant the
controller the permission to list them may list them, too. An upgrade may be done by a user with fewer permissions, and a
rejected list would stop it. So Helm lists nothing where Reroll has run before.
*/ -}}
{{- define "reroll.idle" -}}
{{- $reloader := .Values.reloader -}}
{{- $before := lookup "v1" "Secret" (include "reroll.namespace" .) "reroll-digest-key" -}}
{{- if and $reloader.rbac.enabled (not $reloader.autoReloadAll) (not $before) -}}
{{- $names := include "reroll.annotations" . | fromYaml -}}
{{- $keys := append (values (omit $names "match" "ignore" "pausePeriod" "pauseTime")) "reroll.dev/sources" -}}
{{- /* Annotations of namespaces count only if all of them are watched. */ -}}
{{- $covered := list -}}
{{- if not (include "reroll.scope" .) -}}
{{- range default list (get (lookup "v1" "Namespace" "" "") "items") -}}
{{- if has (dig "annotations" "reroll.dev/auto" "" .metadata | lower) (list "true" "t" "1") -}}
{{- $covered = append $covered .metadata.name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $reloader.enableCSIIntegration -}}
{{- $keys = concat $keys (list "secretproviderclass.reloader.stakater.com/auto" "secretproviderclass.reloader.stakater.com/reload") -}}
{{- end -}}
{{- $all := 0 -}}
{{- $optedIn := false -}}
{{- range $namespace := splitList "," (include "reroll.scope" .) -}}
{{- range include "reroll.lookedAt" $ | fromYamlArray -}}
{{- $template := splitList "." .template -}}
{{- if not $optedIn -}}
{{- range default list (get (lookup .apiVersion .kind $namespace "") "items") -}}
{{- /* What belongs to another workload, as the Jobs of a CronJob do, is not opted in by itself. */ -}}
{{- if not (get .metadata "ownerReferences") -}}
{{- $all = add1 $all -}}
{{- $pod := . -}}
{{- range $template -}}
{{- $pod = default dict (get $pod .) -}}
{{- end -}}
{{- $given := merge dict (dig "metadata" "annotations" dict .) (dig "metadata" "annotations" dict $pod) -}}
{{- if and (has .metadata.namespace $covered) (not (get $given $names.auto)) -}}
{{- $optedIn = true -}}
{{- end -}}
{{- range $keys -}}
{{- if not (has (get $given . | lower) (list "" "false" "f" "0")) -}}
{{- $optedIn = true -}}
{{- end -}}
{{- end -}}
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

{{- /*
The namespaces of other installations of this chart, if this one is new; empty if there are none, or without a cluster.
*/ -}}
{{- define "reroll.otherInstallations" -}}
{{- $own := include "reroll.namespace" . -}}
{{- $before := lookup "v1" "Secret" $own "reroll-digest-key" -}}
{{- $others := list -}}
{{- if and .Values.reloader.rbac.enabled (not $before) -}}
{{- range default list (get (lookup "apps/v1" "Deployment" "" "") "items") -}}
{{- $chart := dig "labels" "helm.sh/chart" "" .metadata -}}
{{- if and (hasPrefix (printf "%s-" $.Chart.Name) $chart) (ne .metadata.namespace $own) -}}
{{- $others = append $others .metadata.namespace -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $others | uniq | sortAlpha | join ", " -}}
{{- end -}}

{{- /*
The kinds that are rolled here, each with the place of its pod template.
*/ -}}
{{- define "reroll.kinds" -}}
{{- $reloader := .Values.reloader -}}
{{- $list := list -}}
{{- range list "Deployment" "StatefulSet" "DaemonSet" -}}
{{- $list = append $list (dict "kind" (printf "apps/v1/%s" .)) -}}
{{- end -}}
{{- if not $reloader.ignoreCronJobs -}}
{{- $list = append $list (dict "kind" "batch/v1/CronJob" "template" "spec.jobTemplate.spec.template") -}}
{{- end -}}
{{- if not $reloader.ignoreJobs -}}
{{- $list = append $list (dict "kind" "batch/v1/Job") -}}
{{- end -}}
{{- if include "reroll.argoRollouts" . -}}
{{- $list = append $list (dict "kind" "argoproj.io/v1alpha1/Rollout") -}}
{{- end -}}
{{- if include "reroll.deploymentConfigs" . -}}
{{- $list = append $list (dict "kind" "apps.openshift.io/v1/DeploymentConfig") -}}
{{- end -}}
{{- concat $list (default list $reloader.workloadKinds) | toYaml -}}
{{- end -}}

{{- /*
The kinds of them that have objects. Only served kinds are listed, because Helm fails if it lists any other kind.
*/ -}}
{{- define "reroll.lookedAt" -}}
{{- $served := .Capabilities.APIVersions -}}
{{- $list := list -}}
{{- range include "reroll.kinds" . | fromYamlArray -}}
{{- if $served.Has .kind -}}
{{- $names := splitList "/" .kind -}}
{{- $list = append $list (dict "apiVersion" (initial $names | join "/") "kind" (last $names) "template" (default "spec.template" (get . "template"))) -}}
{{- end -}}
{{- end -}}
{{- toYaml $list -}}
{{- end -}}
