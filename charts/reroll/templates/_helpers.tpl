{{- define "reroll.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /*
The release name is always in front, even when it equals the chart name: the selector is made of this name and cannot
be changed on an existing Deployment.
*/ -}}
{{- define "reroll.fullname" -}}
{{- default (printf "%s-%s" .Release.Name (include "reroll.name" .)) .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "reroll.namespace" -}}
{{- default .Release.Namespace .Values.namespace -}}
{{- end -}}

{{- define "reroll.serviceAccountName" -}}
{{- $default := ternary (include "reroll.fullname" .) "default" .Values.reloader.serviceAccount.create -}}
{{- default $default .Values.reloader.serviceAccount.name -}}
{{- end -}}

{{- define "reroll.selectorLabels" -}}
app: {{ include "reroll.fullname" . | quote }}
release: {{ .Release.Name | quote }}
{{- end -}}

{{- define "reroll.podLabels" -}}
{{ include "reroll.selectorLabels" . }}
app.kubernetes.io/name: {{ include "reroll.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "reroll.labels" -}}
{{ include "reroll.podLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{- /*
The labels in the first argument win over the user's in the second: a selector must find its pods.
*/ -}}
{{- define "reroll.mergeLabels" -}}
{{- toYaml (merge (fromYaml (index . 0)) (default dict (index . 1))) -}}
{{- end -}}

{{- define "reroll.image" -}}
{{- $image := .Values.image -}}
{{- $repository := $image.repository -}}
{{- with .Values.global.imageRegistry -}}
{{- $repository = printf "%s/%s" (trimSuffix "/" .) $image.name -}}
{{- end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{- /*
reloader.namespaces and the namespace of the installation, with commas between them; empty if no namespace is listed.
*/ -}}
{{- define "reroll.namespaces" -}}
{{- $given := .Values.reloader.namespaces -}}
{{- if kindIs "string" $given -}}
{{- $given = splitList "," $given -}}
{{- end -}}
{{- $names := list -}}
{{- range $given -}}
{{- with trim . -}}
{{- $names = append $names . -}}
{{- end -}}
{{- end -}}
{{- if $names -}}
{{- append $names (include "reroll.namespace" .) | uniq | sortAlpha | join "," -}}
{{- end -}}
{{- end -}}

{{- /*
The namespaces that are watched, with commas between them; empty for all.
*/ -}}
{{- define "reroll.scope" -}}
{{- $scope := include "reroll.namespaces" . -}}
{{- if not (or $scope .Values.reloader.watchGlobally) -}}
{{- $scope = include "reroll.namespace" . -}}
{{- end -}}
{{- $scope -}}
{{- end -}}

{{- define "reroll.watchRules" -}}
# The sources: what they hold is compared with what the pods were started with. RBAC cannot narrow list and watch to names.
- apiGroups: [""]
  resources: [{{ if not .Values.reloader.ignoreConfigMaps }}configmaps{{ end }}{{ if not (or .Values.reloader.ignoreConfigMaps .Values.reloader.ignoreSecrets) }}, {{ end }}{{ if not .Values.reloader.ignoreSecrets }}secrets{{ end }}]
  verbs: [list, watch]
# The workloads: list and watch to know which source they use, patch to roll them and to note what they were rolled with.
- apiGroups: [apps]
  resources: [deployments, statefulsets, daemonsets]
  verbs: [list, watch, patch]
{{- if .Values.reloader.isArgoRollouts }}
# Argo Rollouts, for the same.
- apiGroups: [argoproj.io]
  resources: [rollouts]
  verbs: [list, watch, patch]
{{- end }}
# A workload's pods: when nothing else tells whether they are older than a change, and what has become of them after a reload.
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
# Events on the workload: of each reload, of what has become of it, and of one that failed.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end -}}

{{- /*
The environment of reloader.deployment.env. What is empty is left out, as Reloader's chart does.
*/ -}}
{{- define "reroll.environment" -}}
{{- $env := default dict .Values.reloader.deployment.env -}}
{{- $fullname := include "reroll.fullname" . -}}
{{- $list := list -}}
{{- range $name, $value := default dict (get $env "open") -}}
{{- if not (empty $value) -}}
{{- $list = append $list (dict "name" $name "value" (toString $value)) -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := default dict (get $env "secret") -}}
{{- if not (empty $value) -}}
{{- $list = append $list (dict "name" $name "valueFrom" (dict "secretKeyRef" (dict "name" $fullname "key" $name))) -}}
{{- end -}}
{{- end -}}
{{- range $name, $path := default dict (get $env "field") -}}
{{- if not (empty $path) -}}
{{- $list = append $list (dict "name" $name "valueFrom" (dict "fieldRef" (dict "fieldPath" $path))) -}}
{{- end -}}
{{- end -}}
{{- range $secret, $keys := default dict (get $env "existing") -}}
{{- range $name, $key := default dict $keys -}}
{{- $list = append $list (dict "name" $name "valueFrom" (dict "secretKeyRef" (dict "name" $secret "key" $key))) -}}
{{- end -}}
{{- end -}}
{{- $names := list -}}
{{- range $list -}}
{{- if has .name $names -}}
{{- fail (printf "reloader.deployment.env has %s twice: give each variable in one of open, secret, field and existing" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- if $list -}}
{{- toYaml $list -}}
{{- end -}}
{{- end -}}

{{- define "reroll.givenNames" -}}
{{- $names := list -}}
{{- range include "reroll.environment" . | fromYamlArray -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- toYaml $names -}}
{{- end -}}
