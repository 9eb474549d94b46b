package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	manyObjects = 10_000
	manyBytes   = 50 << 20
	// mostMemory is how many times the input a call may take, all in all, and mostSeconds how much time of processors.
	mostMemory  = 4
	mostSeconds = 10
)

// asChild tells the test binary to be reroll stamp.
const asChild = "REROLL_STAMP_BENCHMARK"

// BenchmarkStamp stamps 10,000 objects of 50 MiB in a process of its own, whose memory is its peak by the kernel.
//
//	go test ./internal/cli -run '^$' -bench Stamp -benchtime 3x
func BenchmarkStamp(b *testing.B) {
	if os.Getenv(asChild) != "" {
		code := Main("reroll", []string{"stamp", "--all", "--secrets=plain"}, "", os.Getenv, os.Stdout, os.Stderr)
		status, _ := os.ReadFile("/proc/self/status")
		_, _ = os.Stderr.Write(status)
		os.Exit(code)
	}
	b.Run("stream", func(b *testing.B) { benchmarkStamp(b, many()) })
	b.Run("list", func(b *testing.B) { benchmarkStamp(b, asList(many())) })
}

func benchmarkStamp(b *testing.B, in []byte) {
	b.Helper()
	if n := bytes.Count(in, []byte("apiVersion: ")) / manyObjects * manyObjects; n != manyObjects || len(in) < manyBytes || len(in) > manyBytes*11/10 {
		b.Fatalf("%d objects of %d bytes", n, len(in))
	}
	b.SetBytes(int64(len(in)))
	var peak, cpu float64
	for b.Loop() {
		cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkStamp$")
		cmd.Env = append(os.Environ(), asChild+"=1")
		cmd.Stdin = struct{ io.Reader }{bytes.NewReader(in)} // a pipe, as behind a program
		var out counted
		var status bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &status
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		if out.stamps != manyObjects*3/10 || out.bytes <= len(in) {
			b.Fatalf("%d stamps in %d bytes", out.stamps, out.bytes)
		}
		// What the kernel tells of a child that has ended begins with the size of its parent.
		_, highest, _ := strings.Cut(status.String(), "VmHWM:")
		var kib float64
		if _, err := fmt.Sscanf(highest, "%g kB", &kib); err != nil {
			b.Fatalf("%v in %s", err, status.String())
		}
		peak = max(peak, kib*1024)
		cpu += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	}
	b.ReportMetric(peak/float64(len(in)), "peak/input")
	b.ReportMetric(cpu/float64(b.N), "cpu-s/op")
	if cpu > mostSeconds*float64(b.N) {
		b.Errorf("%.1f seconds, more than %d", cpu/float64(b.N), mostSeconds)
	}
	if peak > mostMemory*float64(len(in)) {
		b.Errorf("%.0f MiB at the peak, more than %d times the input", peak/(1<<20), mostMemory)
	}
}

// counted is what becomes of the output.
type counted struct {
	bytes, stamps int
	last          []byte
}

// Write counts stamps that come in two parts too.
func (c *counted) Write(p []byte) (int, error) {
	c.bytes += len(p)
	const stamp = "checksum/config: reroll1:"
	text := slices.Concat(c.last, p)
	c.stamps += bytes.Count(text, []byte(stamp))
	c.last = bytes.Clone(text[max(0, len(text)-len(stamp)+1):])
	return len(p), nil
}

// asList makes one list of a stream.
func asList(stream []byte) []byte {
	var b bytes.Buffer
	b.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	margin := "- "
	for line := range bytes.Lines(stream) {
		if string(line) == "---\n" {
			margin = "- "
			continue
		}
		b.WriteString(margin)
		b.Write(line)
		margin = "  "
	}
	return b.Bytes()
}

// many are the objects of a large cluster: of ten, four ConfigMaps, one Secret, three Deployments and two Services.
func many() []byte {
	var b bytes.Buffer
	for i := range manyObjects / 10 {
		for j := range 5 {
			kind, data := "ConfigMap", "data"
			if j == 4 {
				kind, data = "Secret", "stringData"
			}
			fmt.Fprintf(&b, "apiVersion: v1\nkind: %s\nmetadata:\n  name: c-%d-%d\n  labels:\n    app: web\n%s:\n", kind, i, j, data)
			for k := range 40 {
				fmt.Fprintf(&b, "  setting-%d: \"the value of setting %d in %d\"\n", k, k, i)
			}
			b.WriteString("  nginx.conf: |\n" + strings.Repeat("    location /path { proxy_pass http://upstream; } # and so on\n", 100) + "---\n")
		}
		for j := range 3 {
			fmt.Fprintf(&b, "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d-%d-%d\nspec:\n  selector:\n    matchLabels:\n      app: web\n  template:\n    metadata:\n      labels:\n        app: web\n    spec:\n      containers:\n", i, j)
			for k := range 3 {
				fmt.Fprintf(&b, "      - name: c%d\n        image: registry.example.org/team/web:1.2.3\n        ports:\n        - containerPort: 8080\n          name: http\n        resources:\n          limits: {cpu: 500m, memory: 512Mi}\n        envFrom:\n        - configMapRef:\n            name: c-%d-%d\n        - secretRef:\n            name: c-%d-4\n        env:\n", k, i, k, i)
				for v := range 12 {
					fmt.Fprintf(&b, "        - name: VARIABLE_%d\n          value: \"something for variable %d\"\n", v, v)
				}
			}
			b.WriteString("---\n")
		}
		for j := range 2 {
			fmt.Fprintf(&b, "apiVersion: v1\nkind: Service\nmetadata:\n  name: s-%d-%d\nspec:\n  selector:\n    app: web\n  ports:\n  - port: 80\n    targetPort: http\n---\n", i, j)
		}
	}
	return b.Bytes()
}
