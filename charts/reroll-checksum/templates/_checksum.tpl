{{/*
reroll-checksum.of is the checksum of the data in files of templates/, called with the context of the chart and their names:

  checksum/config: {{ include "reroll-checksum.of" (list $ "configmap.yaml" "secret.yaml") }}

It is no-config-data if there is no ConfigMap or Secret with data in them.
*/}}
{{- define "reroll-checksum.of" -}}
{{- $chart := first . -}}
{{- $sources := dict -}}
{{- range $file := rest . -}}
  {{- range $document := regexSplit "(?m)^---(?:\\s|$)" (include (print $chart.Template.BasePath "/" $file) $chart) -1 -}}
    {{- $object := fromYaml $document | default dict -}}
    {{- /* Of what is not YAML, fromYaml makes an object with this one field. */ -}}
    {{- if and (hasKey $object "Error") (not (hasKey $object "kind")) -}}
      {{- fail (printf "the checksum of %s: %s" $file $object.Error) -}}
    {{- end -}}
    {{- range $source := (eq (get $object "kind") "List") | ternary (get $object "items" | default list) (list $object) -}}
      {{- $data := include "reroll-checksum.data" $source -}}
      {{- if $data -}}
        {{- $name := printf "%s/%s/%s" $source.kind ($source.metadata.namespace | default $chart.Release.Namespace) $source.metadata.name -}}
        {{- $_ := set $sources $name $data -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if $sources -}}
sha256:{{ toJson $sources | sha256sum }}
{{- else -}}
no-config-data
{{- end -}}
{{- end -}}

{{/*
reroll-checksum.data is the data of one object, in one form however it is written, and empty without any.
*/}}
{{- define "reroll-checksum.data" -}}
{{- $data := dict -}}
{{- if has .kind (list "ConfigMap" "Secret") -}}
  {{- range $key, $value := .data -}}
    {{- $_ := set $data $key $value -}}
  {{- end -}}
  {{- range $key, $value := .binaryData -}}
    {{- $_ := set $data $key (list $value) -}}
  {{- end -}}
  {{- /* What the API server makes of it, so that data written in the other way is the same. */ -}}
  {{- range $key, $value := .stringData -}}
    {{- $_ := set $data $key (toString $value | b64enc) -}}
  {{- end -}}
{{- end -}}
{{- if $data -}}
{{- toJson $data -}}
{{- end -}}
{{- end -}}
