package controller

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/test/certificates"
	"github.com/reroll-dev/reroll/test/simapi"
)

// ninety is a certificate of 90 days that ends some days after the stage begins.
func ninety(t *testing.T, ends int) map[string][]byte {
	t.Helper()
	until := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, ends)
	return validFor(t, until.AddDate(0, 0, -90), until)
}

func validFor(t *testing.T, from, until time.Time) map[string][]byte {
	t.Helper()
	text, key, err := certificates.Make(from, until)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"tls.crt": text, "tls.key": key}
}

// withCertificate is a stage with a workload that uses the TLS Secret web, and whose window never
// opens.
func withCertificate(t *testing.T, data map[string][]byte) *stage {
	t.Helper()
	s := newStage(t)
	s.lead()
	s.opts().Window = "deny 2020-01-01/2099-12-31 UTC"
	s.addCertificate(data)
	s.play(3 * time.Second)
	s.heard("adopted", "web Watching")
	return s
}

func (s *stage) addCertificate(data map[string][]byte) {
	s.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Type: corev1.SecretTypeTLS, Data: data}
	made, err := s.server.Create(secret, "kubectl")
	if err != nil {
		s.Fatal(err)
	}
	s.secrets().arrives(made)
	d := webDeployment()
	container := &d.Spec.Template.Spec.Containers[0]
	container.EnvFrom = nil
	d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "web"}}}}
	container.VolumeMounts = []corev1.VolumeMount{{Name: "tls", MountPath: "/tls"}}
	deployment, err := s.server.Create(d, "kubectl")
	if err != nil {
		s.Fatal(err)
	}
	s.deployments().arrives(deployment)
}

func (s *stage) secrets() *handler { return s.controller.sources(kubeapi.SourceKinds()[1], "") }

func (s *stage) renew(data map[string][]byte) {
	s.Helper()
	changed, err := s.server.Edit("secrets", inShop("web"), "cert-manager", func(obj simapi.Object) { obj.(*corev1.Secret).Data = data })
	if err != nil {
		s.Fatal(err)
	}
	s.secrets().arrives(changed)
	s.play(5 * time.Second)
}

const overridden = "web GateOverridden: The reload for Secret 'web' starts now, although a gate is closed (its window is closed: deny 2020-01-01/2099-12-31 UTC (--window)): the certificate that the Pods have expires at 2026-03-31T12:00:00Z, and from 2026-03-22T12:00:00Z no gate holds its replacement"

func TestACertificateThatExpiresIsReplacedThroughAClosedWindow(t *testing.T) {
	s := withCertificate(t, ninety(t, 30))
	s.renew(ninety(t, 90))
	s.rolled("renewed", 0, 1)
	s.heard("renewed", "web ReloadHeld: The reload for Secret 'web' waits, because its window is closed: deny 2020-01-01/2099-12-31 UTC (--window); it starts not later than 2026-03-22T12:00:00Z, because the certificate of Secret web that the Pods have expires at 2026-03-31T12:00:00Z. The newest data is rolled then")
	s.renew(ninety(t, 91))
	s.clock.SetTime(time.Date(2026, 3, 22, 11, 20, 0, 0, time.UTC)) // an hour later is too late
	s.play(40*time.Minute - 10*time.Second)
	s.rolled("ten seconds before", 0, 1)
	s.play(15 * time.Second)
	s.rolled("a tenth of its lifetime before", 1, 0)
	s.heard("a tenth of its lifetime before", overridden)

	s.renew(ninety(t, 92))
	s.play(2 * time.Hour)
	s.rolled("the next one", 1, 1)
}

func TestARestartForgetsNoCertificate(t *testing.T) {
	s := withCertificate(t, ninety(t, 30))
	s.renew(ninety(t, 90))
	s.rolled("renewed", 0, 1)
	s = s.restarted()
	s.play(5 * time.Second)
	s.rolled("after a restart", 0, 1)
	s.says = nil
	s.clock.SetTime(time.Date(2026, 3, 22, 12, 0, 1, 0, time.UTC))
	s.play(time.Hour)
	s.rolled("a tenth of its lifetime before", 1, 0)
	s.heard("a tenth of its lifetime before", overridden)
}

// No controller sees the previous certificate when it is replaced.
func TestACertificateThatIsReplacedWhileNoControllerRuns(t *testing.T) {
	s := withCertificate(t, ninety(t, 30))
	if _, err := s.server.Edit("secrets", inShop("web"), "cert-manager", func(obj simapi.Object) { obj.(*corev1.Secret).Data = ninety(t, 90) }); err != nil {
		t.Fatal(err)
	}
	s.oldPods = true
	s = s.restarted()
	s.oldPods = true
	s.play(5 * time.Second)
	s.rolled("after a restart", 0, 1)
	s.clock.SetTime(time.Date(2026, 3, 22, 12, 0, 1, 0, time.UTC))
	s.play(time.Hour)
	s.rolled("a tenth of its lifetime before", 1, 0)
}

// certificates are those in the ledger of the workload.
func (s *stage) certificates() string {
	s.Helper()
	obj, err := s.server.Get("deployments", inShop("web"))
	if err != nil {
		s.Fatal(err)
	}
	_, text, _ := strings.Cut(obj.(*appsv1.Deployment).Annotations[annotations.Ledger], `"cert":`)
	text, _, _ = strings.Cut(text, "}}")
	return text
}

func TestGarbageIsNoCertificate(t *testing.T) {
	s := withCertificate(t, map[string][]byte{"tls.crt": []byte("garbage"), "tls.key": nil})
	if got := s.certificates(); got != "" {
		t.Errorf("the ledger has %s", got)
	}
	s.renew(ninety(t, 30))
	s.heard("a certificate", "web ReloadHeld: (--window). The newest data is rolled then")
	s.play(400 * 24 * time.Hour)
	s.rolled("the previous one never expires", 0, 1)
}

// A ledger of an earlier version has no certificates. It gets them once, and nothing is rolled.
func TestALedgerGetsItsCertificatesOnce(t *testing.T) {
	s := withCertificate(t, ninety(t, 30))
	want := s.certificates()
	if want == "" {
		t.Fatal("the ledger has none")
	}
	s.change(func(d *appsv1.Deployment) {
		before, after, _ := strings.Cut(d.Annotations[annotations.Ledger], `,"cert":`)
		_, after, _ = strings.Cut(after, "}}")
		d.Annotations[annotations.Ledger] = before + after
	})
	for i, about := range []string{"the next version", "a restart"} {
		s = s.restarted()
		s.play(5 * time.Second)
		if got := s.certificates(); got != want || s.patched != 1-i || s.marked > 0 {
			t.Errorf("%s: the ledger has %q, want %q; %d writes, want %d; %d reloads", about, got, want, s.patched, 1-i, s.marked)
		}
	}
}
