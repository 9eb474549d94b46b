package main

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// app is the program that serves.
type app struct {
	out   io.Writer
	ready atomic.Bool

	mu    sync.Mutex
	files map[string]string // by path, as they were read last
}

func newApp(out io.Writer) (*app, error) {
	a := &app{out: out}
	fmt.Fprintln(out, "started")
	for _, entry := range slices.Sorted(slices.Values(os.Environ())) {
		// These are the same for all pods of a cluster.
		if !strings.HasPrefix(entry, "KUBERNETES_") {
			fmt.Fprintln(out, "env "+entry)
		}
	}
	return a, a.read("")
}

// read reads and prints the files of all volumes, after a word about why.
func (a *app) read(why string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	files := map[string]string{}
	for _, dir := range volumes(string(mounts)) {
		if err := readBelow(dir, files); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.files = files
	if why != "" {
		fmt.Fprintln(a.out, why)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(a.out, "file %s=%s\n", path, strings.TrimSuffix(files[path], "\n"))
	}
	return nil
}

// volumes are the mounts that a pod has by its specification: all but those that each container
// has.
func volumes(mountinfo string) []string {
	var dirs []string
	for lines := bufio.NewScanner(strings.NewReader(mountinfo)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		at := fields[4]
		system := at == "/"
		for _, dir := range []string{"/proc", "/sys", "/dev", "/var/run/secrets", "/run/secrets", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"} {
			system = system || at == dir || strings.HasPrefix(at, dir+"/")
		}
		if !system {
			dirs = append(dirs, at)
		}
	}
	return dirs
}

// readBelow follows links: the kubelet shows each file of a ConfigMap as one.
func readBelow(dir string, into map[string]string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path != dir && strings.HasPrefix(entry.Name(), "..") {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := os.Stat(path)
		if err != nil || info.IsDir() {
			return err
		}
		content, err := os.ReadFile(path) //nolint:gosec // to follow the links is its purpose
		into[path] = string(content)
		return err
	})
}

func (a *app) handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, value string, found bool) {
		if !found {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprintln(w, value) //nolint:gosec // for tests, which are no browsers
	}
	mux.HandleFunc("GET /env/{name}", func(w http.ResponseWriter, r *http.Request) {
		value, found := os.LookupEnv(r.PathValue("name"))
		answer(w, value, found)
	})
	mux.HandleFunc("GET /file/{path...}", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		value, found := a.files["/"+r.PathValue("path")]
		answer(w, strings.TrimSuffix(value, "\n"), found)
	})
	mux.HandleFunc("POST /reload", func(w http.ResponseWriter, _ *http.Request) {
		if err := a.read("reloaded"); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("POST /ready/{ready}", func(_ http.ResponseWriter, r *http.Request) {
		a.ready.Store(r.PathValue("ready") == "true")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !a.ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	return mux
}

// fillMemory ends when the kernel ends the process. The pages are written to, or they would take no
// memory.
func fillMemory() {
	var kept [][]byte
	for {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		kept = append(kept, block)
		if len(kept) > 64<<10 {
			return // 64 GB: there is no limit
		}
	}
}
