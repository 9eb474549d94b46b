kubectl create namespace shop
kubectl config set-context --current --namespace=shop
kubectl apply -f - <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: cfg}
data: {text: hello}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: cfg}}]}]}
YAML
kubectl rollout status deployment/web
kubectl wait deployment/web --for='jsonpath={.metadata.annotations.reroll\.dev/ledger}' --timeout=5m
kubectl patch configmap cfg --type=merge -p '{"data":{"text":"good morning"}}'
