package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	manyObjects = 10_000
	manyBytes   = 50 << 20
	// mostMemory is the limit for the memory of a run, as a multiple of the input. mostSeconds is
	// the limit for the processor time.
	mostMemory  = 4
	mostSeconds = 10
)

// asChild makes the test binary run reroll stamp with the flags in this variable.
const asChild = "REROLL_STAMP_BENCHMARK"

// heapTaken precedes the size of the heap that a child has obtained from the system.
const heapTaken = "HeapSys:"

// BenchmarkStamp stamps 10,000 objects of 50 MiB in a separate process, and measures its peak
// memory by the kernel.
//
//	go test ./internal/cli -run '^$' -bench Stamp -benchtime 3x
func BenchmarkStamp(b *testing.B) {
	if flags := os.Getenv(asChild); flags != "" {
		code := Main("reroll", append([]string{"stamp"}, strings.Fields(flags)...), "", os.Getenv, os.Stdout, os.Stderr)
		status, _ := os.ReadFile("/proc/self/status")
		_, _ = os.Stderr.Write(status)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Fprintf(os.Stderr, "%s %d kB\n", heapTaken, m.HeapSys/1024)
		os.Exit(code)
	}
	for _, form := range forms() {
		b.Run(form.name, func(b *testing.B) {
			objects := manyObjects
			in := form.of(many(objects))
			for len(in) < manyBytes {
				objects += manyObjects / 10
				in = form.of(many(objects))
			}
			benchmarkStamp(b, form, in, objects)
		})
	}
}

// form is a way to write all objects, and the flags for reading them.
type form struct {
	name, flags string
	of          func(stream []byte) []byte
}

func forms() []form {
	const all = "--all --secrets=plain"
	return []form{
		{"stream", all, bytes.Clone},
		{"list", all, func(stream []byte) []byte { return asList(stream, "List") }},
		{"json-lines", all, func(stream []byte) []byte { return asJSON(stream, "    ") }},
		{"json-one-line", all, func(stream []byte) []byte { return asJSON(stream, "") }},
		{"function", "--function", asFunction},
	}
}

func benchmarkStamp(b *testing.B, form form, in []byte, objects int) {
	b.Helper()
	b.SetBytes(int64(len(in)))
	var peak, cpu float64
	for b.Loop() {
		used := stampInChild(b, form, in, objects)
		peak = max(peak, used.peak)
		cpu += used.cpu
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

// usage is the cost of a run: seconds of processors, and peak bytes by the kernel and of the heap
// alone.
type usage struct{ cpu, peak, heap float64 }

// stampInChild stamps a number of objects in a separate process.
func stampInChild(tb testing.TB, form form, in []byte, objects int) usage {
	tb.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkStamp$")
	cmd.Env = append(os.Environ(), asChild+"="+form.flags)
	cmd.Stdin = struct{ io.Reader }{bytes.NewReader(in)} // a pipe, as after another program
	var out counted
	var status bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &status
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%v: %.500s", err, status.String())
	}
	if out.stamps != objects*3/10 || out.bytes <= len(in) {
		tb.Fatalf("%d stamps in %d bytes", out.stamps, out.bytes)
	}
	used := usage{cpu: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	// For a child that has ended, the other numbers of the kernel include the size of its parent.
	for name, into := range map[string]*float64{"VmHWM:": &used.peak, heapTaken: &used.heap} {
		_, told, _ := strings.Cut(status.String(), name)
		if _, err := fmt.Sscanf(told, "%g kB", into); err != nil {
			tb.Fatalf("%v in %s", err, status.String())
		}
		*into *= 1024
	}
	return used
}

// counted counts the stamps in the output.
type counted struct {
	bytes, stamps int
	last          []byte
}

// Write also counts stamps that arrive in two parts.
func (c *counted) Write(p []byte) (int, error) {
	c.bytes += len(p)
	const stamp = "reroll1:"
	text := slices.Concat(c.last, p)
	c.stamps += bytes.Count(text, []byte(stamp))
	c.last = bytes.Clone(text[max(0, len(text)-len(stamp)+1):])
	return len(p), nil
}

// asFunction returns the input that kustomize passes to a function, with the same flags.
func asFunction(stream []byte) []byte {
	return append(asList(stream, "ResourceList"), "functionConfig:\n  spec: {all: true, secrets: plain}\n"...)
}

// asList returns the objects of a stream as one list.
func asList(stream []byte, kind string) []byte {
	var b bytes.Buffer
	b.WriteString("apiVersion: v1\nkind: " + kind + "\nitems:\n")
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

// asJSON returns the objects of a stream as one list in JSON, as kubectl get prints them: indented,
// or on one line.
func asJSON(stream []byte, indent string) []byte {
	list := map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]string{"resourceVersion": ""}}
	var items []json.RawMessage
	for doc := range bytes.SplitSeq(stream, []byte("---\n")) {
		if len(doc) > 0 {
			item, err := yaml.YAMLToJSON(doc)
			if err != nil {
				panic(err)
			}
			items = append(items, item)
		}
	}
	list["items"] = items
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(list); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// many returns the objects of a large cluster: of ten, four ConfigMaps, one Secret, three
// Deployments and two Services.
func many(objects int) []byte {
	var b bytes.Buffer
	for i := range objects / 10 {
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
