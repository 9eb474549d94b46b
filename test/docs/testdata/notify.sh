# The Deployment of the example is there already, merged from the page.
kubectl apply -f examples/notify/notify.yaml
