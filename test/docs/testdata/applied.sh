# The page shows how to upgrade what Helm did not install.
helm uninstall reroll --namespace reroll --wait
kubectl apply --filename deploy/reroll.yaml
