{{- /*
The environment of reloader.deployment.env. What is empty is left out, as Reloader's chart does.
*/ -}}
{{- define "reroll.environment" -}}
{{- $env := default dict .Values.reloader.deployment.env -}}
{{- $fullname := include "reroll.fullname" . -}}
{{- $list := list -}}
{{- range $name, $value := default dict (get $env "open") -}}
{{- if not (empty $value) -}}
{{- $list = append $list (dict "name" $name "value" (include "reroll.text" $value)) -}}
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
{{- $ref := dict "name" $secret "key" $key -}}
{{- /* A Secret that is not there would keep the pod from starting. Without alerts it still does its work. */ -}}
{{- if hasPrefix "ALERT_" $name -}}
{{- $_ := set $ref "optional" true -}}
{{- end -}}
{{- $list = append $list (dict "name" $name "valueFrom" (dict "secretKeyRef" $ref)) -}}
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

{{- /*
All variables of the container. What the chart sets by itself can be given.
*/ -}}
{{- define "reroll.variables" -}}
{{- $reloader := .Values.reloader -}}
{{- $given := include "reroll.givenNames" . | fromYamlArray -}}
{{- range $name, $field := dict "POD_NAME" "metadata.name" "POD_NAMESPACE" "metadata.namespace" "RELOADER_NAMESPACE" "metadata.namespace" }}
{{- if not (has $name $given) }}
- name: {{ $name }}
  valueFrom:
    fieldRef:
      fieldPath: {{ $field }}
{{- end }}
{{- end }}
{{- if not (has "RELOADER_DEPLOYMENT_NAME" $given) }}
- name: RELOADER_DEPLOYMENT_NAME
  value: {{ include "reroll.fullname" . | quote }}
{{- end }}
{{- if not (or $reloader.watchGlobally (include "reroll.namespaces" .) (has "KUBERNETES_NAMESPACE" $given)) }}
- name: KUBERNETES_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end }}
{{- if and $reloader.enableMetricsByNamespace (not (has "METRICS_COUNT_BY_NAMESPACE" $given)) }}
- name: METRICS_COUNT_BY_NAMESPACE
  value: enabled
{{- end }}
{{- with include "reroll.goLimits" . }}
{{ . }}
{{- end }}
{{- with include "reroll.environment" . }}
{{ . }}
{{- end }}
{{- end -}}

{{- /*
Go reads the CPU limit by itself, but not the memory limit. With GOMEMLIMIT=0 it would collect garbage all the time, so 0
means no variable.
*/ -}}
{{- define "reroll.goLimits" -}}
{{- $deployment := .Values.reloader.deployment -}}
{{- $given := include "reroll.givenNames" . | fromYamlArray -}}
{{- $limits := default dict (get (include "reroll.resources" . | fromYaml) "limits") -}}
{{- $list := list -}}
{{- range $name, $given := dict "GOMAXPROCS" $deployment.gomaxprocsOverride "GOMEMLIMIT" $deployment.gomemlimitOverride -}}
{{- $value := ternary (printf "%.0f" (float64 (default 0 $given))) (toString $given) (kindIs "float64" $given) -}}
{{- if and (include "reroll.given" $given) (ne $value "0") -}}
{{- $list = append $list (dict "name" $name "value" $value) -}}
{{- end -}}
{{- end -}}
{{- if and (get $limits "memory") (not (include "reroll.given" $deployment.gomemlimitOverride)) -}}
{{- $list = append $list (dict "name" "GOMEMLIMIT" "valueFrom" (dict "resourceFieldRef" (dict "resource" "limits.memory"))) -}}
{{- end -}}
{{- $own := list -}}
{{- range $list -}}
{{- if not (has .name $given) -}}
{{- $own = append $own . -}}
{{- end -}}
{{- end -}}
{{- if $own -}}
{{- toYaml $own -}}
{{- end -}}
{{- end -}}
