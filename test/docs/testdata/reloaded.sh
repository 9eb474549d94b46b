. test/docs/testdata/followed.sh
kubectl wait deployment/web --for='jsonpath={.spec.template.spec.containers[0].env[0].name}'=STAKATER_CFG_CONFIGMAP --timeout=5m
kubectl rollout status deployment/web
