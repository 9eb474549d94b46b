kubectl create namespace shop
kubectl config set-context --current --namespace=shop
kubectl apply -f - <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: greeting}
data: {text: hello}
---
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {password: secret}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {reloader.stakater.com/atuo: "true"}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: app
          image: web
          env: [{name: GREETING, valueFrom: {configMapKeyRef: {name: greeting, key: text}}}]
          envFrom: [{secretRef: {name: db}}]
YAML
