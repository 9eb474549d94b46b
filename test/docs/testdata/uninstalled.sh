# The page shows several ways to install, of which a reader follows one.
helm uninstall reroll --namespace reroll --wait
kubectl delete namespace reroll
