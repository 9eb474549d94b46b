package browser

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Expose makes the pages a Service, as the chart does, and returns the path of that Service in the
// proxy of the API server.
func (s *Scene) Expose(ctx context.Context) (path string, err error) {
	address, err := ownAddress()
	if err != nil {
		return "", err
	}
	number, err := strconv.ParseInt(s.port, 10, 32)
	if err != nil {
		return "", err
	}
	name, protocol := "ui", corev1.ProtocolTCP
	services := s.admin.CoreV1().Services(s.own.Name)
	service, err := services.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "reroll-ui"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: name, Port: 8080, Protocol: protocol}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	pod, err := s.pod(ctx, address)
	if err != nil {
		return "", err
	}
	// The proxy of the API server reads Endpoints, and of these only the addresses of Pods.
	_, err = s.admin.CoreV1().Endpoints(s.own.Name).Create(ctx, &corev1.Endpoints{ //nolint:staticcheck // see above
		ObjectMeta: metav1.ObjectMeta{Name: service.Name},
		Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // see above
			Addresses: []corev1.EndpointAddress{{IP: address, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: s.own.Name, Name: pod}}},
			Ports:     []corev1.EndpointPort{{Name: name, Port: int32(number), Protocol: protocol}},
		}},
	}, metav1.CreateOptions{})
	return "/api/v1/namespaces/" + s.own.Name + "/services/reroll-ui:ui/proxy/", err
}

// pod creates a Pod with this address for the controller, which is a process here. No scheduler has
// its name, so nothing else writes its status.
func (s *Scene) pod(ctx context.Context, address string) (name string, err error) {
	pods := s.admin.CoreV1().Pods(s.own.Name)
	pod, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "reroll-ui"},
		Spec:       corev1.PodSpec{SchedulerName: "none", Containers: []corev1.Container{{Name: "reroll", Image: "registry.example.com/reroll"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}}
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return pod.Name, err
}

// errLoopback means that the API server cannot reach a process on this machine.
var errLoopback = errors.New("this machine has no address but 127.0.0.1, which the proxy of the API server refuses")

// ownAddress returns an address of this machine that is not 127.0.0.1.
func ownAddress() (string, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, one := range all {
		if network, ok := one.(*net.IPNet); ok && network.IP.To4() != nil && network.IP.IsGlobalUnicast() {
			return network.IP.String(), nil
		}
	}
	return "", errLoopback
}

// Forward returns what kubectl proxy does: it sends requests to the API server with the permissions
// of a user.
func Forward(config *rest.Config) (http.Handler, error) {
	to, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	// A page that is left ends its stream, which is no error.
	quiet := log.New(io.Discard, "", 0)
	return &httputil.ReverseProxy{Transport: transport, ErrorLog: quiet, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}, nil
}
