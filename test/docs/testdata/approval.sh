kubectl apply -f examples/approval/approval.yaml
