package lease

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Service selects any replica for a connection, and the proxy of the API server one for each request.
func TestOneSignInHoldsForAllReplicas(t *testing.T) {
	i := install(t)
	i.allowsReviews()
	port := i.freePort()
	// The replicas listen on the same port of their Pods. These addresses are those of two Pods.
	i.podAt("first", "127.0.0.1")
	i.podAt("standby", "127.0.0.2")
	first := i.start("first", "--enable-ha", "--ui-address=127.0.0.1:"+port)
	i.says(first, "holding the lease")
	standby := i.start("standby", "--enable-ha", "--ui-address=127.0.0.2:"+port)
	i.says(standby, "waiting for the lease", `"holder":"first"`)
	atFirst, atStandby := "http://127.0.0.1:"+port, "http://127.0.0.2:"+port

	token, err := shared.Admin.CoreV1().ServiceAccounts(i.ns.Name).CreateToken(i.ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	i.must(err)
	cookie := i.signIn(atStandby, token.Status.Token)
	for _, at := range []string{atFirst, atStandby} {
		if status, page := i.page(at, cookie); status != http.StatusOK || !strings.Contains(page, i.ns.Name+":default") {
			t.Errorf("%s answers %d: %s", at, status, page)
		}
	}
	i.must(first.Stop(i.ctx))
	i.says(standby, "holding the lease")
	if status, page := i.page(atStandby, cookie); status != http.StatusUnauthorized || !strings.Contains(page, "Sign in") {
		t.Errorf("after the end of the leader: %d: %s", status, page)
	}
	if status, _ := i.page(atStandby, i.signIn(atStandby, token.Status.Token)); status != http.StatusOK {
		t.Errorf("signed in again: %d", status)
	}
}

// allowsReviews grants what the chart grants with reloader.ui.enabled.
func (i *installation) allowsReviews() {
	i.Helper()
	name := i.ns.Name + "-ui"
	_, err := shared.Admin.RbacV1().ClusterRoles().Create(i.ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
			{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
			{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}},
		},
	}, metav1.CreateOptions{})
	i.must(err)
	_, err = shared.Admin.RbacV1().ClusterRoleBindings().Create(i.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "reroll", Namespace: i.ns.Name}},
	}, metav1.CreateOptions{})
	i.must(err)
}

// podAt creates the Pod of a replica with an address. Nothing runs in it.
func (i *installation) podAt(name, ip string) {
	i.Helper()
	pods := shared.Admin.CoreV1().Pods(i.ns.Name)
	_, err := pods.Create(i.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			ServiceAccountName: "reroll", Containers: []corev1.Container{{Name: "reroll", Image: "reroll"}},
			NodeSelector: map[string]string{"node": "none"},
		},
	}, metav1.CreateOptions{})
	i.must(err)
	// The scheduler writes there, too.
	status := `{"status":{"podIP":"` + ip + `","podIPs":[{"ip":"` + ip + `"}]}}`
	_, err = pods.Patch(i.ctx, name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	i.must(err)
}

func (i *installation) freePort() string {
	i.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	i.must(err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	i.must(err)
	i.must(listener.Close())
	return port
}

// signIn shows a token, and returns the cookie.
func (i *installation) signIn(at, token string) *http.Cookie {
	i.Helper()
	request, err := http.NewRequestWithContext(i.ctx, http.MethodPost, at+"/sign-in", strings.NewReader(url.Values{"token": {token}}.Encode()))
	i.must(err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := http.DefaultTransport.RoundTrip(request)
	i.must(err)
	defer answer.Body.Close()
	if len(answer.Cookies()) != 1 {
		text, _ := io.ReadAll(answer.Body)
		i.Fatalf("%s: %s: %s", at, answer.Status, text)
	}
	return answer.Cookies()[0]
}

func (i *installation) page(at string, cookie *http.Cookie) (status int, text string) {
	i.Helper()
	request, err := http.NewRequestWithContext(i.ctx, http.MethodGet, at+"/", http.NoBody)
	i.must(err)
	request.AddCookie(cookie)
	answer, err := http.DefaultClient.Do(request)
	i.must(err)
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	i.must(err)
	return answer.StatusCode, string(page)
}
