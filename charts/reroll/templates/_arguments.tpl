{{- define "reroll.arguments" -}}
{{- $reloader := .Values.reloader -}}
- run
{{- if kindIs "bool" $reloader.isArgoRollouts }}
- --is-Argo-Rollouts={{ $reloader.isArgoRollouts }}
{{- end }}
{{- range $reloader.workloadKinds }}
- {{ printf "--workload-kind=%s%s" .kind (ternary (printf ":%s" .template) "" (not (empty .template))) | quote }}
{{- end }}
{{- if $reloader.enableCSIIntegration }}
- --enable-csi-integration
{{- end }}
{{- if and $reloader.enableClusterTrustBundles (not (include "reroll.scope" .)) }}
- --enable-cluster-trust-bundles
{{- end }}
{{- if $reloader.enableReferenceGrants }}
- --enable-reference-grants
{{- end }}
{{- with $reloader.webhookUrl }}
- {{ printf "--webhook-url=%s" . | quote }}
{{- end }}
{{- if $reloader.autoReloadAll }}
- --auto-reload-all
{{- end }}
{{- if $reloader.ignoreSecrets }}
- --resources-to-ignore=secrets
{{- end }}
{{- if $reloader.ignoreConfigMaps }}
- --resources-to-ignore=configMaps
{{- end }}
{{- with $reloader.reloadStrategy }}
{{- if ne . "default" }}
- {{ printf "--reload-strategy=%s" . | quote }}
{{- end }}
{{- end }}
{{- with $reloader.onRevert }}
- {{ printf "--on-revert=%s" . | quote }}
{{- end }}
{{- with $reloader.secretMarks }}
- {{ printf "--secret-marks=%s" . | quote }}
{{- end }}
{{- $workloads := list }}
{{- if $reloader.ignoreJobs }}
{{- $workloads = append $workloads "jobs" }}
{{- end }}
{{- if $reloader.ignoreCronJobs }}
{{- $workloads = append $workloads "cronjobs" }}
{{- end }}
{{- with $workloads }}
- --ignored-workload-types={{ join "," . }}
{{- end }}
{{- if $reloader.reloadOnCreate }}
- --reload-on-create
{{- end }}
{{- if $reloader.reloadOnDelete }}
- --reload-on-delete
{{- end }}
{{- with $reloader.logFormat }}
- --log-format={{ . }}
{{- end }}
{{- if not (has $reloader.logLevel (list nil "" "info")) }}
- --log-level={{ $reloader.logLevel }}
{{- end }}
{{- with include "reroll.namespaces" . }}
- --namespaces={{ . }}
{{- end }}
{{- with $reloader.ignoreNamespaces }}
- {{ printf "--namespaces-to-ignore=%s" . | quote }}
{{- end }}
{{- with $reloader.namespaceSelector }}
- {{ printf "--namespace-selector=%s" . | quote }}
{{- end }}
{{- with $reloader.resourceLabelSelector }}
- {{ printf "--resource-label-selector=%s" . | quote }}
{{- end }}
{{- range $key, $flag := dict "configmap" "configmap" "secret" "secret" "auto" "auto" "configmap_auto" "configmap-auto" "secret_auto" "secret-auto" "search" "auto-search" "match" "search-match" "ignore" "ignore" "pausePeriod" "pause-deployment" "pauseTime" "pause-deployment-time" }}
{{- with default "" (get (default dict $reloader.custom_annotations) $key) | trim }}
- {{ printf "--%s-annotation=%s" $flag . | quote }}
{{- end }}
{{- end }}
{{- if $reloader.enableHA }}
- --enable-ha
{{- end }}
{{- $election := $reloader.leaderElection }}
{{- with $election.leaseDuration }}
- --leader-election-lease-duration={{ . }}
{{- end }}
{{- with $election.renewDeadline }}
- --leader-election-renew-deadline={{ . }}
{{- end }}
{{- with $election.retryPeriod }}
- --leader-election-retry-period={{ . }}
{{- end }}
{{- if $reloader.syncAfterRestart }}
- --sync-after-restart
{{- end }}
{{- if $reloader.enablePProf }}
- --enable-pprof
{{- with $reloader.pprofAddr }}
- {{ printf "--pprof-addr=%s" . | quote }}
{{- end }}
{{- end }}
{{- with $reloader.ui }}
{{- if .enabled }}
- --ui-address=:{{ int .port }}
{{- end }}
{{- end }}
{{- with $reloader.settle }}
- --settle={{ . }}
{{- end }}
{{- with $reloader.settleMax }}
- --settle-max={{ . }}
{{- end }}
{{- with $reloader.settleGitOps }}
- --settle-gitops={{ . }}
{{- end }}
{{- with $reloader.churn }}
- {{ printf "--churn=%s" . | quote }}
{{- end }}
{{- with $reloader.window }}
- {{ printf "--window=%s" . | quote }}
{{- end }}
{{- with $reloader.approval }}
- --approval={{ . }}
{{- end }}
{{- with $reloader.gateUrl }}
- {{ printf "--gate-url=%s" . | quote }}
{{- end }}
{{- with $reloader.keys }}
- --keys={{ . }}
{{- end }}
{{- with $reloader.mode }}
- --mode={{ . }}
{{- end }}
{{- with $reloader.maxRolling }}
- {{ printf "--max-rolling=%s" (include "reroll.text" .) | quote }}
{{- end }}
{{- with $reloader.soak }}
- --soak={{ . }}
{{- end }}
{{- with $reloader.maxFailures }}
- --max-failures={{ include "reroll.text" . }}
{{- end }}
{{- with $reloader.haltWhenFailing }}
- {{ printf "--halt-when-failing=%s" . | quote }}
{{- end }}
{{- with $reloader.adoptRate }}
- --adopt-rate={{ include "reroll.text" . }}
{{- end }}
{{- with $reloader.kubeApiQps }}
- --kube-api-qps={{ include "reroll.text" . }}
{{- end }}
{{- with $reloader.kubeApiBurst }}
- --kube-api-burst={{ include "reroll.text" . }}
{{- end }}
{{- range $reloader.deployment.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
