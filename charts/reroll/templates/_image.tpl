{{- /*
The image of the values: "at" is the path of the values that name it, with the keys of its name and of its version there.
Charts of Reloader before 2.0 had it in reloader.deployment.image, which has an effect while image is unset.
*/ -}}
{{- define "reroll.imageParts" -}}
{{- $usual := dict "name" "reroll" "repository" "localhost/reroll" "pullPolicy" "IfNotPresent" -}}
{{- $image := merge dict (default dict .Values.image) $usual -}}
{{- $old := default dict .Values.reloader.deployment.image -}}
{{- $registry := get (default dict .Values.global) "imageRegistry" -}}
{{- $untouched := and (eq $image.repository $usual.repository) (not $image.tag) (not $image.digest) (eq $image.name $usual.name) -}}
{{- $parts := dict "at" "image" "key" (ternary "name" "repository" (not (empty $registry))) "pullPolicy" $image.pullPolicy -}}
{{- if and $untouched (get $old (ternary "base" "name" (not (empty $registry)))) -}}
{{- $parts = dict "at" "reloader.deployment.image" "key" (ternary "base" "name" (not (empty $registry))) "pullPolicy" (default $image.pullPolicy (get $old "pullPolicy")) -}}
{{- $image = $old -}}
{{- end -}}
{{- $repository := get $image $parts.key -}}
{{- with $registry -}}
{{- $repository = printf "%s/%s" (trimSuffix "/" .) $repository -}}
{{- end -}}
{{- $_ := set $parts "repository" $repository -}}
{{- $tag := get $image "tag" -}}
{{- if include "reroll.given" $tag -}}
{{- $tag = include "reroll.text" $tag -}}
{{- end -}}
{{- $_ := set $parts "tag" (default "" $tag) -}}
{{- $_ := set $parts "digest" (default "" (get $image "digest")) -}}
{{- toYaml $parts -}}
{{- end -}}

{{- /*
Not empty for an image that has the name of Reloader's or of a copy of it. Reroll may have been pushed there too.
*/ -}}
{{- define "reroll.namedReloader" -}}
{{- if regexMatch "(^|/)(stakater-)?reloader(-ubi)?$" .repository -}}true{{- end -}}
{{- end -}}

{{- define "reroll.image" -}}
{{- $image := include "reroll.imageParts" . | fromYaml -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{- /*
Values as lines of a file, for messages: the first argument is the path of a map, the second the map. The values of a
subchart are below its name or alias.
*/ -}}
{{- define "reroll.lines" -}}
{{- $tree := index . 2 -}}
{{- $path := splitList "." (index . 1) -}}
{{- if not (index . 0).Chart.IsRoot -}}
{{- $path = prepend $path (index . 0).Chart.Name -}}
{{- end -}}
{{- range reverse $path -}}
{{- $tree = dict . $tree -}}
{{- end -}}
{{- toYaml $tree -}}
{{- end -}}

{{- /*
The path of a value for --set.
*/ -}}
{{- define "reroll.path" -}}
{{- if not (index . 0).Chart.IsRoot -}}{{- (index . 0).Chart.Name -}}.{{- end -}}{{- index . 1 -}}
{{- end -}}

{{- /*
Secrets to pull the image with. A server-side apply rejects a name that is listed twice.
*/ -}}
{{- define "reroll.pullSecrets" -}}
{{- $names := list -}}
{{- range concat (default list (default dict .Values.global).imagePullSecrets) (default list .Values.reloader.deployment.imagePullSecrets) -}}
{{- $names = append $names (dict "name" (ternary . (get (ternary dict . (kindIs "string" .)) "name") (kindIs "string" .))) -}}
{{- end -}}
{{- if $names -}}
{{- uniq $names | toYaml -}}
{{- end -}}
{{- end -}}
