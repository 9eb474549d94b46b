{{- /*
The security contexts. On OpenShift no user and no group is named: it assigns them, and refuses others.
*/ -}}
{{- define "reroll.podSecurity" -}}
{{- $given := default dict .Values.reloader.deployment.securityContext -}}
{{- if .Values.reloader.isOpenshift -}}
{{- $given = omit $given "runAsUser" "runAsGroup" "fsGroup" "supplementalGroups" -}}
{{- end -}}
{{- if $given -}}
{{- toYaml $given -}}
{{- end -}}
{{- end -}}

{{- define "reroll.containerSecurity" -}}
{{- $given := default dict .Values.reloader.deployment.containerSecurityContext -}}
{{- if .Values.reloader.isOpenshift -}}
{{- $given = omit $given "runAsUser" "runAsGroup" -}}
{{- end -}}
{{- if .Values.reloader.readOnlyRootFileSystem -}}
{{- $given = merge (dict "readOnlyRootFilesystem" true) $given -}}
{{- end -}}
{{- if $given -}}
{{- toYaml $given -}}
{{- end -}}
{{- end -}}

{{- /*
reloader.volumes and reloader.volumeMounts are where charts of Reloader before 2.0 had them.
*/ -}}
{{- define "reroll.volumes" -}}
{{- $reloader := .Values.reloader -}}
{{- $list := concat (default list $reloader.volumes) (default list $reloader.deployment.volumes) -}}
{{- if $reloader.readOnlyRootFileSystem -}}
{{- $list = prepend $list (dict "name" "tmp-volume" "emptyDir" dict) -}}
{{- end -}}
{{- if $list -}}
{{- toYaml $list -}}
{{- end -}}
{{- end -}}

{{- define "reroll.volumeMounts" -}}
{{- $reloader := .Values.reloader -}}
{{- $list := concat (default list $reloader.volumeMounts) (default list $reloader.deployment.volumeMounts) -}}
{{- if $reloader.readOnlyRootFileSystem -}}
{{- $list = prepend $list (dict "name" "tmp-volume" "mountPath" "/tmp/") -}}
{{- end -}}
{{- if $list -}}
{{- toYaml $list -}}
{{- end -}}
{{- end -}}

{{- /*
A probe of the path in the first argument, with the numbers of the second over those of the third.
*/ -}}
{{- define "reroll.probe" -}}
{{- $numbers := merge dict (default dict (index . 1)) (index . 2) -}}
{{- toYaml (merge (dict "httpGet" (dict "path" (index . 0) "port" "http")) $numbers) -}}
{{- end -}}
