kubectl annotate deployment web reloader.stakater.com/atuo- reloader.stakater.com/auto=true
kubectl annotate configmap greeting reloader.stakater.com/ignore=true
