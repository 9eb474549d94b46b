{{- define "reroll.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /*
The release reroll is called reroll, not reroll-reroll. Any other release name stays in front, even if it equals the
name: Reloader's chart has it there, and the selector, which contains it, cannot change on an existing Deployment. A
release may have dots in its name, and a container and a Service may not.
*/ -}}
{{- define "reroll.fullname" -}}
{{- $name := include "reroll.name" . -}}
{{- $both := ternary $name (printf "%s-%s" .Release.Name $name) (and (eq $name "reroll") (eq .Release.Name $name)) -}}
{{- default $both .Values.fullnameOverride | replace "." "-" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "reroll.namespace" -}}
{{- default .Release.Namespace .Values.namespace -}}
{{- end -}}

{{- define "reroll.serviceAccountName" -}}
{{- $default := ternary (include "reroll.fullname" .) "default" .Values.reloader.serviceAccount.create -}}
{{- default $default .Values.reloader.serviceAccount.name -}}
{{- end -}}

{{- /*
The labels by which the Deployment, the Service and the others select the Pods. app and release are of this installation
only, and take precedence over reloader.matchLabels.
*/ -}}
{{- define "reroll.selectorLabels" -}}
{{- $own := dict "app" (include "reroll.fullname" .) "release" .Release.Name -}}
{{- toYaml (merge $own (default dict .Values.reloader.matchLabels)) -}}
{{- end -}}

{{- define "reroll.podLabels" -}}
{{- $usual := dict "app.kubernetes.io/name" (include "reroll.name" .) "app.kubernetes.io/instance" .Release.Name -}}
{{- toYaml (merge (include "reroll.selectorLabels" . | fromYaml) $usual) -}}
{{- end -}}

{{- define "reroll.labels" -}}
{{- $chart := printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" -}}
{{- $more := dict "app.kubernetes.io/version" .Chart.AppVersion "app.kubernetes.io/managed-by" .Release.Service "helm.sh/chart" $chart -}}
{{- toYaml (merge (include "reroll.podLabels" . | fromYaml) $more) -}}
{{- end -}}

{{- /*
The labels in the first argument win over the user's in the second: a selector must find its pods.
*/ -}}
{{- define "reroll.mergeLabels" -}}
{{- toYaml (merge (fromYaml (index . 0)) (default dict (index . 1))) -}}
{{- end -}}

{{- /*
"true" for a value that was given. 0 and false were, "" and null were not.
*/ -}}
{{- define "reroll.given" -}}
{{- if not (or (kindIs "invalid" .) (eq (toString .) "")) -}}true{{- end -}}
{{- end -}}

{{- /*
A value as it was written. A large number would come out as 1e+06 else.
*/ -}}
{{- define "reroll.text" -}}
{{- if kindIs "float64" . -}}{{- toJson . -}}{{- else -}}{{- toString . -}}{{- end -}}
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

{{- /*
Not empty where Argo Rollouts are to be rolled, as far as is known when this is rendered.
*/ -}}
{{- define "reroll.argoRollouts" -}}
{{- $asked := .Values.reloader.isArgoRollouts -}}
{{- if kindIs "bool" $asked -}}
{{- ternary "true" "" $asked -}}
{{- else if .Capabilities.APIVersions.Has "argoproj.io/v1alpha1/Rollout" -}}
true
{{- end -}}
{{- end -}}

{{- /*
Not empty where OpenShift's DeploymentConfigs are to be rolled, as far as is known when this is rendered.
*/ -}}
{{- define "reroll.deploymentConfigs" -}}
{{- if or .Values.reloader.isOpenshift (.Capabilities.APIVersions.Has "apps.openshift.io/v1/DeploymentConfig") -}}
true
{{- end -}}
{{- end -}}

{{- /*
The keys of the annotations unless reloader.custom_annotations renames them.
*/ -}}
{{- define "reroll.annotationKeys" -}}
configmap: configmap.reloader.stakater.com/reload
secret: secret.reloader.stakater.com/reload
auto: reloader.stakater.com/auto
configmap_auto: configmap.reloader.stakater.com/auto
secret_auto: secret.reloader.stakater.com/auto
search: reloader.stakater.com/search
match: reloader.stakater.com/match
ignore: reloader.stakater.com/ignore
pausePeriod: deployment.reloader.stakater.com/pause-period
pauseTime: deployment.reloader.stakater.com/paused-at
{{- end -}}

{{- /*
What the annotations are called here. The controller takes blanks around a key away.
*/ -}}
{{- define "reroll.annotations" -}}
{{- $own := default dict .Values.reloader.custom_annotations -}}
{{- $names := dict -}}
{{- range $key, $usual := include "reroll.annotationKeys" . | fromYaml -}}
{{- $_ := set $names $key (default $usual (default "" (get $own $key) | trim)) -}}
{{- end -}}
{{- toYaml $names -}}
{{- end -}}

{{- define "reroll.watchRules" -}}
# Sources: Reroll compares their data with the data that the Pods started with. RBAC cannot restrict list and watch to names.
- apiGroups: [""]
  resources: [{{ if not .Values.reloader.ignoreConfigMaps }}configmaps{{ end }}{{ if not (or .Values.reloader.ignoreConfigMaps .Values.reloader.ignoreSecrets) }}, {{ end }}{{ if not .Values.reloader.ignoreSecrets }}secrets{{ end }}]
  verbs: [list, watch]
{{- if (default dict .Values.reloader.ui).enabled }}
# Events: the UI shows those about workloads.
- apiGroups: [""]
  resources: [events]
  verbs: [list]
{{- end }}
# Workloads: list and watch to find the sources that they use, patch to write change markers and ledgers.
- apiGroups: [apps]
  resources: [deployments, statefulsets, daemonsets]
  verbs: [list, watch, patch]
{{- if not .Values.reloader.ignoreCronJobs }}
# CronJobs: also get, to read the template of the Job that a reload creates.
- apiGroups: [batch]
  resources: [cronjobs]
  verbs: [list, watch, get, patch]
{{- end }}
{{- if not .Values.reloader.ignoreJobs }}
# Jobs: the pod template of a Job is immutable, so Reroll copies, deletes and recreates it. It also creates Jobs of CronJobs.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [list, watch, create, patch, delete]
{{- else if not .Values.reloader.ignoreCronJobs }}
# Jobs of CronJobs: Reroll creates them suspended, and unsuspends them after it has recorded them.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [list, watch, create, patch]
{{- end }}
{{- if include "reroll.argoRollouts" . }}
# Argo Rollouts: as for workloads.
- apiGroups: [argoproj.io]
  resources: [rollouts]
  verbs: [list, watch, patch]
{{- end }}
{{- if include "reroll.deploymentConfigs" . }}
# OpenShift DeploymentConfigs: as for workloads.
- apiGroups: [apps.openshift.io]
  resources: [deploymentconfigs]
  verbs: [list, watch, patch]
{{- end }}
{{- range .Values.reloader.workloadKinds }}
# {{ .kind }}: as for workloads.
- apiGroups: [{{ splitList "/" .kind | first }}]
  resources: [{{ .resource }}]
  verbs: [list, watch, patch]
{{- end }}
{{- if .Values.reloader.enableCSIIntegration }}
# The status that the Secrets Store CSI driver keeps for each Pod, and the SecretProviderClasses. Their annotations select workloads.
- apiGroups: [secrets-store.csi.x-k8s.io]
  resources: [secretproviderclasses, secretproviderclasspodstatuses]
  verbs: [list, watch]
{{- end }}
{{- if .Values.reloader.enableReferenceGrants }}
# ReferenceGrants: which workloads may name sources of a namespace.
- apiGroups: [gateway.networking.k8s.io]
  resources: [referencegrants]
  verbs: [list, watch]
{{- end }}
# Pods of a workload: Reroll checks their age if nothing else shows it, and tracks the rollout after a reload.
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
# Events on the workload: each reload, its outcome, and its failure.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end -}}

{{/*
Whether the admission policy about the Jobs of others is made: some text, or none. Where namespaces are selected by their labels,
another installation may work in the others, and creates such Jobs there.
*/}}
{{- define "reroll.jobsPolicy" -}}
{{- $jobs := not (and .Values.reloader.ignoreJobs .Values.reloader.ignoreCronJobs) }}
{{- if and $jobs (include "reroll.policy" .) (or (include "reroll.scope" .) (not .Values.reloader.namespaceSelector)) }}true{{ end }}
{{- end }}

{{/* Whether the admission policy is made: some text, or none. */}}
{{- define "reroll.policy" -}}
{{- $set := "auto" }}
{{- with (default dict .Values.reloader.admissionPolicy) }}
{{- if include "reroll.given" .enabled }}
{{- $set = toString .enabled }}
{{- end }}
{{- end }}
{{- $served := .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy" }}
{{- /* By itself only where cluster-wide objects are made anyway, and never about an account that is somebody else's too. */}}
{{- $auto := and $served .Values.reloader.rbac.enabled .Values.reloader.serviceAccount.create (not (include "reroll.scope" .)) }}
{{- if or (eq $set "true") (and (eq $set "auto") $auto) }}true{{ end }}
{{- end }}
