kubectl create namespace reroll
kubectl create namespace shop
mkdir -p path/to/the/app
