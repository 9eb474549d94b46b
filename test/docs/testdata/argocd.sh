kubectl create namespace argocd
