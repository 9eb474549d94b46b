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

{{- /*
Requests and limits. Charts of Reloader have none by default, so users may set one of the two alone. If it does not fit the
other one, which then is the default, that is left out: the API server rejects a request above its limit. The strings are
those of values.yaml, because a template only sees the values of the user merged into them.
*/ -}}
{{- define "reroll.resources" -}}
{{- $given := default dict .Values.reloader.deployment.resources -}}
{{- $requests := deepCopy (default dict (get $given "requests")) -}}
{{- $limits := deepCopy (default dict (get $given "limits")) -}}
{{- $defaults := dict "cpu" (list "20m" "") "memory" (list "64Mi" "512Mi") "ephemeral-storage" (list "64Mi" "512Mi") -}}
{{- range $resource, $default := $defaults -}}
{{- if and (hasKey $requests $resource) (hasKey $limits $resource) -}}
{{- $request := get $requests $resource -}}
{{- $limit := get $limits $resource -}}
{{- $exceeds := gt (include "reroll.quantity" $request | float64) (include "reroll.quantity" $limit | float64) -}}
{{- if and $exceeds (eq (toString $limit) (last $default)) -}}
{{- $_ := unset $limits $resource -}}
{{- else if and $exceeds (eq (toString $request) (first $default)) -}}
{{- $_ := unset $requests $resource -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $all := omit $given "requests" "limits" -}}
{{- range $name, $values := dict "requests" $requests "limits" $limits -}}
{{- if $values -}}
{{- $_ := set $all $name $values -}}
{{- end -}}
{{- end -}}
{{- if $all -}}
{{- toYaml $all -}}
{{- end -}}
{{- end -}}

{{- /*
A quantity such as 64Mi, 20m or 0.5 as a number, for comparison only.
*/ -}}
{{- define "reroll.quantity" -}}
{{- $units := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- $text := toString . -}}
{{- $unit := regexFind "[A-Za-z]+$" $text -}}
{{- mulf (trimSuffix $unit $text | float64) (default 1 (get $units $unit) | float64) -}}
{{- end -}}
