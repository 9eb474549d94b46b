kubectl -n reroll rollout status deployment/reroll
kubectl apply -f - <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: greeting}
data: {text: hello}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: greeting}}]}]}
YAML
kubectl rollout status deployment/web
