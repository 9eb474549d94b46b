{{- /*
Rejects values that cannot work. Each message has the values that would.
*/ -}}
{{- define "reroll.checks" -}}
{{- $reloader := .Values.reloader -}}
{{- $deployment := $reloader.deployment -}}
{{- if and (gt (int $deployment.replicas) 1) (not $reloader.enableHA) -}}
{{- fail (printf "reloader.deployment.replicas is %v, but reloader.enableHA is false: further replicas are standbys and need leader election. Set reloader.enableHA to true, or reloader.deployment.replicas to 1." $deployment.replicas) -}}
{{- end -}}
{{- if and $reloader.ignoreSecrets $reloader.ignoreConfigMaps -}}
{{- fail "reloader.ignoreSecrets and reloader.ignoreConfigMaps are both true, so no change could roll a workload. Set one of them to false." -}}
{{- end -}}
{{- include "reroll.checkAnnotations" . -}}
{{- with $reloader.settleMax -}}
{{- $settle := default "1s" $reloader.settle -}}
{{- if lt (include "reroll.after" .) (include "reroll.after" $settle) -}}
{{- fail (printf "reloader.settleMax is %s, but reloader.settle is %s: the maximum wait must not be shorter than the settle period. Leave reloader.settleMax unset, or set it to %s or more." . $settle $settle) -}}
{{- end -}}
{{- end -}}
{{- with $reloader.kubeApiQps -}}
{{- if lt (float64 .) 5.0 -}}
{{- fail (printf "reloader.kubeApiQps is %v: with fewer than 5 requests per second, a write may time out before it is sent. Set 5 or more, or leave reloader.kubeApiQps unset for no limit." .) -}}
{{- end -}}
{{- end -}}
{{- if and $reloader.kubeApiBurst (not $reloader.kubeApiQps) -}}
{{- fail (printf "reloader.kubeApiBurst is %v, but reloader.kubeApiQps is unset, so there is no limit. Set reloader.kubeApiQps, too, for example to 50." $reloader.kubeApiBurst) -}}
{{- end -}}
{{- range $reloader.workloadKinds -}}
{{- if hasPrefix "argoproj.io/" .kind -}}
{{- if hasSuffix "/Rollout" .kind -}}
{{- fail (printf "reloader.workloadKinds has %s: Argo Rollouts are a built-in kind. Remove it, and set reloader.isArgoRollouts to true." .kind) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $deployment.extraArgs -}}
{{- if hasPrefix "--ui-address" . -}}
{{- fail (printf "reloader.deployment.extraArgs has %s: the Service and the permissions of the UI need values. Remove the flag, and set reloader.ui.enabled to true." .) -}}
{{- end -}}
{{- if hasPrefix "--listen-address" . -}}
{{- fail (printf "reloader.deployment.extraArgs has %s: the probes, the Service and the NetworkPolicy use port 9090. Remove the flag." .) -}}
{{- end -}}
{{- end -}}
{{- include "reroll.checkToken" . -}}
{{- include "reroll.checkImage" . -}}
{{- include "reroll.checkInstallation" . -}}
{{- end -}}

{{- /*
Two settings cannot share an annotation: the controller would exit at its start.
*/ -}}
{{- define "reroll.checkAnnotations" -}}
{{- $keys := dict -}}
{{- range $key, $name := include "reroll.annotations" . | fromYaml -}}
{{- if hasKey $keys $name -}}
{{- fail (printf "reloader.custom_annotations: %s and %s are both %s. Set a different annotation for each." (get $keys $name) $key $name) -}}
{{- end -}}
{{- $_ := set $keys $name $key -}}
{{- end -}}
{{- end -}}

{{- /*
A moment that is a duration after another: templates can compare that, and no durations.
*/ -}}
{{- define "reroll.after" -}}
{{- $then := toDate "2006-01-02" "2000-01-01" | mustDateModify (printf "+%s" .) -}}
{{- dateInZone "2006-01-02T15:04:05.000000000" $then "UTC" -}}
{{- end -}}

{{- define "reroll.checkToken" -}}
{{- $pod := .Values.reloader.deployment.automountServiceAccountToken -}}
{{- $account := .Values.reloader.serviceAccount -}}
{{- $none := and (kindIs "bool" $pod) (not $pod) -}}
{{- if and (kindIs "invalid" $pod) $account.create (kindIs "bool" $account.automountServiceAccountToken) -}}
{{- $none = not $account.automountServiceAccountToken -}}
{{- end -}}
{{- range include "reroll.volumeMounts" . | fromYamlArray -}}
{{- if hasPrefix "/var/run/secrets/kubernetes.io/serviceaccount" (get . "mountPath") -}}
{{- $none = false -}}
{{- end -}}
{{- end -}}
{{- if has "KUBECONFIG" (include "reroll.givenNames" . | fromYamlArray) -}}
{{- $none = false -}}
{{- end -}}
{{- if $none -}}
{{- fail "no token is mounted, so the controller could not authenticate to the API server. Set reloader.deployment.automountServiceAccountToken to true (reloader.serviceAccount.automountServiceAccountToken may stay false), or mount a token at /var/run/secrets/kubernetes.io/serviceaccount with reloader.deployment.volumes and volumeMounts" -}}
{{- end -}}
{{- end -}}

{{- define "reroll.checkImage" -}}
{{- $image := include "reroll.imageParts" . | fromYaml -}}
{{- $ours := ternary "reroll" "localhost/reroll" (has $image.key (list "base")) -}}
{{- if and (eq $image.at "image") (eq $image.key "name") -}}
{{- $ours = "reroll" -}}
{{- end -}}
{{- $lines := dict $image.key $ours "tag" .Chart.AppVersion -}}
{{- $which := "these two lines" -}}
{{- if $image.digest -}}
{{- $lines = merge (dict "digest" "") $lines -}}
{{- $which = "these lines" -}}
{{- end -}}
{{- if and (include "reroll.namedReloader" $image) (regexMatch "^(v?[01]\\.[0-9]+\\.[0-9]+(-ubi)?)?$" $image.tag) -}}
{{- fail (printf "the image %s is Reloader's, and this chart runs Reroll. Change %s of your values, or name your own copy of the image:\n\n%s\n" (include "reroll.image" .) $which (include "reroll.lines" (list . $image.at $lines))) -}}
{{- end -}}
{{- if and (eq $image.repository "localhost/reroll") (not $image.digest) (regexMatch "^v[01]\\.[0-9]+\\.[0-9]+" $image.tag) -}}
{{- fail (printf "the tag %s is one of Reloader's, and this chart runs Reroll. Change this line of your values:\n\n%s\n" $image.tag (include "reroll.lines" (list . $image.at (dict "tag" .Chart.AppVersion)))) -}}
{{- end -}}
{{- end -}}

{{- /*
Beside an installation of Reloader, a second Deployment would roll everything twice. Without a cluster, as in helm
template, nothing is found.
*/ -}}
{{- define "reroll.checkInstallation" -}}
{{- $theirs := printf "%s-reloader" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- $namespace := include "reroll.namespace" . -}}
{{- if ne (include "reroll.fullname" .) $theirs -}}
{{- $found := lookup "apps/v1" "Deployment" $namespace $theirs -}}
{{- if eq (dig "spec" "selector" "matchLabels" "app" "" $found) $theirs -}}
{{- $key := ternary "fullnameOverride" "nameOverride" (not (empty .Values.fullnameOverride)) -}}
{{- $name := ternary "reloader" $theirs (eq $key "nameOverride") -}}
{{- $value := include "reroll.path" (list . $key) -}}
{{- fail (printf "the Deployment %s in namespace %s is an installation of Reloader, and %s would run beside it. To replace it, set %s to %s:\n\n  helm upgrade %s CHART --namespace %s --reset-then-reuse-values --set %s=%s\n" $theirs $namespace (include "reroll.fullname" .) $value $name .Release.Name .Release.Namespace $value $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
