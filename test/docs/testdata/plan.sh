kubectl delete deployment web
kubectl annotate configmap greeting reloader.stakater.com/ignore-
workload() { # KIND NAME REPLICAS KEY VALUE
kubectl apply -f - <<YAML
apiVersion: apps/v1
kind: $1
metadata: {name: $2, annotations: {"$4": "$5"}}
spec:
  replicas: $3
  selector: {matchLabels: {app: $2}}
  template:
    metadata: {labels: {app: $2}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: greeting}}]}]}
YAML
}
workload Deployment web 4 reloader.stakater.com/auto true
workload Deployment named 2 configmap.reloader.stakater.com/reload 'greet.*'
workload StatefulSet agent 3 reloader.stakater.com/auto true
workload Deployment left 1 configmaps.exclude.reloader.stakater.com/reload greeting
kubectl annotate deployment left reloader.stakater.com/auto=true
workload Deployment plain 1 example.org/unrelated true
workload Deployment searching 1 reloader.stakater.com/search true
