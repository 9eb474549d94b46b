helm install reroll charts/reroll --namespace reroll --create-namespace
kubectl create namespace shop
