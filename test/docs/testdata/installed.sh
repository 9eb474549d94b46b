helm install reroll charts/reroll --namespace reroll --create-namespace
