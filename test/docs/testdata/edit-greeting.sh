# It knows then what the pods have.
kubectl wait deployment/web --for='jsonpath={.metadata.annotations.reroll\.dev/ledger}' --timeout=5m
kubectl patch configmap greeting --type=merge -p '{"data":{"text":"good morning"}}'
