package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestVolumesAreTheMountsThatAPodAsksFor(t *testing.T) {
	const mountinfo = `1 0 0:1 / / rw - overlay none rw
2 1 0:2 / /proc rw - proc none rw
3 1 0:3 / /sys/fs/cgroup rw - tmpfs none rw
4 1 0:4 / /dev/termination-log rw - ext4 /dev/vda rw
5 1 0:5 / /etc/hosts rw - ext4 /dev/vda rw
6 1 0:6 / /var/run/secrets/kubernetes.io/serviceaccount ro - tmpfs none ro
7 1 0:7 / /etc/greeting ro - ext4 /dev/vda rw
8 1 0:8 / /system ro - tmpfs none rw
`
	if got, want := volumes(mountinfo), []string{"/etc/greeting", "/system"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFilesAreReadThroughTheLinksOfTheKubelet(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "..2026"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "..2026", "text"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"..data": "..2026", "text": filepath.Join("..data", "text")} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{}
	if err := readBelow(dir, files); err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || files[filepath.Join(dir, "text")] != "hello\n" {
		t.Errorf("files: %q", files)
	}
}

func TestItServesWhatItHasReadAndIsReadyUntilItIsToldOtherwise(t *testing.T) {
	t.Setenv("GREETING", "hello")
	a := &app{out: io.Discard, files: map[string]string{"/etc/greeting/text": "good morning\n"}}
	a.ready.Store(true)
	server := httptest.NewServer(a.handler())
	defer server.Close()
	ask := func(method, path string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, strings.TrimSpace(string(body))
	}
	for _, step := range []struct {
		method, path, body string
		code               int
	}{
		{"GET", "/env/GREETING", "hello", 200},
		{"GET", "/env/NONE", "", 404},
		{"GET", "/file/etc/greeting/text", "good morning", 200},
		{"GET", "/readyz", "", 200},
		{"POST", "/ready/false", "", 200},
		{"GET", "/readyz", "", 503},
		{"POST", "/ready/true", "", 200},
		{"GET", "/readyz", "", 200},
	} {
		if code, body := ask(step.method, step.path); code != step.code || body != step.body {
			t.Errorf("%s %s: %d %q, want %d %q", step.method, step.path, code, body, step.code, step.body)
		}
	}
}
