{{- /*
The port of an address such as https://host:8443/path, as a number.
*/ -}}
{{- define "reroll.port" -}}
{{- $address := trim . -}}
{{- $scheme := regexFind "^[a-zA-Z0-9+.-]+://" $address | lower -}}
{{- $host := regexReplaceAll "^[a-zA-Z0-9+.-]+://" $address "" | regexFind "^[^/?#]*" -}}
{{- $port := regexFind ":[0-9]+$" $host | trimPrefix ":" -}}
{{- if $port -}}
{{- $port -}}
{{- else if hasPrefix "socks" $scheme -}}
1080
{{- else -}}
{{- ternary "80" "443" (eq $scheme "http://") -}}
{{- end -}}
{{- end -}}

{{- /*
The ports that alerts, webhookUrl and gateUrl need. Those in Secrets that exist are not known here: they are taken to be 443 and 80.
*/ -}}
{{- define "reroll.alertPorts" -}}
{{- $env := default dict .Values.reloader.deployment.env -}}
{{- $ports := list -}}
{{- range list .Values.reloader.webhookUrl .Values.reloader.gateUrl -}}
{{- with . -}}
{{- $ports = append $ports (include "reroll.port" . | int) -}}
{{- end -}}
{{- end -}}
{{- range $name := list "ALERT_WEBHOOK_URL" "ALERT_WEBHOOK_PROXY" -}}
{{- range list "open" "secret" -}}
{{- with get (default dict (get $env .)) $name -}}
{{- $ports = append $ports (include "reroll.port" . | int) -}}
{{- end -}}
{{- end -}}
{{- range $keys := default dict (get $env "existing") -}}
{{- if hasKey (default dict $keys) $name -}}
{{- $ports = concat $ports (list 443 80) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $ports -}}
{{- end -}}
