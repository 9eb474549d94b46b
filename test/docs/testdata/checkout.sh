# The repository of the web server, as somebody has cloned it.
kubectl create namespace shop
git init --quiet --bare ~/shop.git
git clone --quiet ~/shop.git ~/checkout
cp -r examples/gitops/web ~/checkout/
cd ~/checkout
git config user.name somebody
git config user.email somebody@example.com
git add . && git commit --quiet --message 'The web server' && git push --quiet
