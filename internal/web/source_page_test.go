package web

import (
	"net/http"
	"testing"
)

// A source of bank, which workloads of bank and of shop use.
const lent = `---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: bank, name: rates, uid: uid-rates, resourceVersion: "3", creationTimestamp: "2020-01-01T00:00:00Z", annotations: {reroll.dev/allow-from: "shop", reroll.dev/max-rolling: "1"}}
data: {key: x}
`

func TestASourceShowsItsWorkloadsInAllNamespaces(t *testing.T) {
	cluster := clusterOf(t, "", lent+deployment("bank", "vault", auto, "configMap/rates")+
		deployment("shop", "web", `configmap.reloader.stakater.com/reload: "bank/rates"`, "configMap/own")+
		deployment("thief", "pry", `configmap.reloader.stakater.com/reload: "bank/rates"`, "configMap/own"))
	const path = "/source?ns=bank&kind=ConfigMap&name=rates"
	page := get(t, serve(t, everything, cluster), path, http.StatusOK)
	inOrder(t, page, "<strong>2 workloads, 4 Pods in all</strong>", ">vault<", "Rolled in other namespaces", ">web<", "<bdi>shop</bdi>", "are not rolled", ">pry<", "<bdi>thief</bdi>")
	has(t, page, `href="map?q=rates"`)
	ofBank := get(t, serve(t, readerOf("bank"), cluster), path, http.StatusOK)
	has(t, ofBank, "<strong>1 workload, 2 Pods in all</strong>, apart from 2 that you may not read", "!>web<", "!shop", "!thief", "!pry")
	ofBoth := get(t, serve(t, append(readerOf("bank"), "shop/deployments.apps"), cluster), path, http.StatusOK)
	has(t, ofBoth, ">web<", "apart from 1 that you may not read", "!thief")
}

const bundle = `---
apiVersion: certificates.k8s.io/v1beta1
kind: ClusterTrustBundle
metadata: {name: company, uid: uid-company, resourceVersion: "3", creationTimestamp: "2020-01-01T00:00:00Z"}
spec: {trustBundle: "x"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: web, uid: uid-web, resourceVersion: "5", creationTimestamp: "2020-01-01T00:00:00Z", annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: app, volumeMounts: [{name: ca, mountPath: /ca}]}]
      volumes: [{name: ca, projected: {sources: [{clusterTrustBundle: {name: company, path: ca.pem}}]}}]
status: {replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2}
`

// A bundle is in no namespace, so a Role of a namespace that allows all resources does not cover it.
func TestABundleIsForReadersOfBundles(t *testing.T) {
	cluster := clusterOf(t, "", bundle, "--enable-cluster-trust-bundles")
	const path = "/source?ns=shop&kind=ClusterTrustBundle&name=company"
	page := get(t, serve(t, everything, cluster), path, http.StatusOK)
	has(t, page, "<strong>1 workload, 2 Pods in all</strong>", ">web<", "<bdi>shop</bdi>", "!It does not exist", "!other namespaces")
	has(t, get(t, serve(t, everything, cluster), "/source?kind=ClusterTrustBundle&name=company", http.StatusOK), ">web<")
	wild := append(readerOf("shop"), "shop/clustertrustbundles.certificates.k8s.io")
	get(t, serve(t, wild, cluster), path, http.StatusNotFound)
	for _, path := range []string{"/", "/map", "/?q=company", "/workload?ns=shop&kind=Deployment&name=web"} {
		has(t, get(t, serve(t, wild, cluster), path, http.StatusOK), "!>company<")
	}
	has(t, get(t, serve(t, append(readerOf("shop"), "*/clustertrustbundles.certificates.k8s.io"), cluster), path, http.StatusOK), ">web<")
}
