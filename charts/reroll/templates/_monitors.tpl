{{- /*
The endpoint of both kinds of monitor, from the values of one.
*/ -}}
{{- define "reroll.endpoint" -}}
port: http
path: /metrics
honorLabels: {{ ne (toString .honorLabels) "false" }}
{{- with .interval }}
interval: {{ . }}
{{- end }}
{{- with .timeout }}
scrapeTimeout: {{ . }}
{{- end }}
{{- with .scheme }}
scheme: {{ . }}
{{- end }}
{{- with .tlsConfig }}
tlsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .bearerTokenFile }}
bearerTokenFile: {{ . | quote }}
{{- end }}
{{- with .bearerTokenSecret }}
bearerTokenSecret:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .relabelings }}
relabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /*
The metadata of a monitor, from the root and the values of one.
*/ -}}
{{- define "reroll.monitorMetadata" -}}
{{- $root := index . 0 -}}
{{- $monitor := index . 1 -}}
name: {{ include "reroll.fullname" $root | quote }}
namespace: {{ default (include "reroll.namespace" $root) $monitor.namespace | quote }}
labels:
  {{- toYaml (merge dict (default dict $monitor.labels) (include "reroll.labels" $root | fromYaml)) | nindent 2 }}
{{- with $monitor.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "reroll.monitorSelector" -}}
namespaceSelector:
  matchNames:
    - {{ include "reroll.namespace" . | quote }}
selector:
  matchLabels:
    {{- include "reroll.selectorLabels" . | nindent 4 }}
{{- end -}}
