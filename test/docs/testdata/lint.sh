rm deploy/*.yaml
cat > deploy/app.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: greeting, annotations: {reloader.stakater.com/mach: "true"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gone, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  selector: {matchLabels: {app: gone}}
  template:
    metadata: {labels: {app: gone}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: missing}}, {configMapRef: {name: greeting}}]}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, annotations: {configmap.reloader.stakater.com/reload: greting}}
spec:
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: app, image: db}]}}
YAML
