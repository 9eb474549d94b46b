package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const name = "localhost/reroll:0.1.0-dev"

// buildStatic compiles a static program once for all tests.
var buildStatic = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "image-test")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	src := filepath.Join(dir, "main.go")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() { println(\"hello\") }\n"), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "program"), src)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "program"))
})

func staticBinary(t *testing.T) string {
	t.Helper()
	data, err := buildStatic()
	if err != nil {
		t.Fatalf("building a static program: %v", err)
	}
	return file(t, data)
}

func file(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reroll")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

type segment struct {
	kind elf.ProgType
	data []byte
}

// forge returns an ELF file of headers and segments only: compilers here may be unable to make a
// binary that must be refused.
func forge(t *testing.T, kind elf.Type, machine elf.Machine, segments ...segment) []byte {
	t.Helper()
	const headerSize, progSize = 64, 56
	h := elf.Header64{
		Type: uint16(kind), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Phoff: headerSize, Ehsize: headerSize, Phentsize: progSize, Phnum: uint16(len(segments)),
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	progs := make([]elf.Prog64, len(segments))
	var content []byte
	for i, s := range segments {
		progs[i] = elf.Prog64{
			Type: uint32(s.kind), Off: uint64(headerSize + progSize*len(segments) + len(content)),
			Filesz: uint64(len(s.data)), Memsz: uint64(len(s.data)),
		}
		content = append(content, s.data...)
	}
	var buf bytes.Buffer
	for _, v := range []any{h, progs, content} {
		if err := binary.Write(&buf, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

func dynamic(tags ...elf.DynTag) segment {
	var data []byte
	for _, tag := range tags {
		data = binary.LittleEndian.AppendUint64(data, uint64(tag))
		data = binary.LittleEndian.AppendUint64(data, 1)
	}
	return segment{elf.PT_DYNAMIC, data}
}

// build runs the command and returns what it wrote and printed.
func build(t *testing.T, epoch string, args ...string) (archive []byte, printed string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "image.tar")
	var stdout, stderr bytes.Buffer
	if err := run(append([]string{"-o", out}, args...), epoch, &stdout, &stderr); err != nil {
		t.Fatalf("run: %v\n%s", err, stderr.String())
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data, strings.ReplaceAll(stdout.String(), out, "image.tar")
}

func TestPrintsWhatWasWrittenAndHowToLoadIt(t *testing.T) {
	archive, printed := build(t, "", "-binary", staticBinary(t), "-arch", "amd64", "-tag", name)
	l := read(t, archive)
	for _, want := range []string{
		"image.tar: " + name + " for linux/amd64, ",
		" MiB, digest " + l.index.Manifests[0].Digest + ", image id " + l.manifest.Config.Digest + "\n",
		"\n  docker load -i image.tar\n",
		"\n  kind load image-archive image.tar\n",
		"\n  ctr -n k8s.io images import image.tar\n",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("printed text lacks %q:\n%s", want, printed)
		}
	}
}

func TestReplacesTheArchiveAndLeavesNothingBeside(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "image.tar")
	if err := os.WriteFile(out, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := []string{"-binary", staticBinary(t), "-arch", "amd64", "-tag", name, "-o", out}
	if err := run(append(good, "-arch", "arm64"), "", &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
		t.Fatal("an amd64 binary was accepted as arm64")
	}
	if old, _ := os.ReadFile(out); string(old) != "old" {
		t.Errorf("a refused input changed the archive: %q", old)
	}
	if err := run(good, "", &bytes.Buffer{}, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(out)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o644 || info.Size() < 1000 {
		t.Errorf("archive: mode %v, %d bytes", info.Mode(), info.Size())
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
}

func TestRefusals(t *testing.T) {
	static := staticBinary(t)
	dir := t.TempDir()
	loader := segment{elf.PT_INTERP, []byte("/lib64/ld-linux-x86-64.so.2\x00")}
	elfOf := func(kind elf.Type, machine elf.Machine, s ...segment) []string {
		return []string{"-binary", file(t, forge(t, kind, machine, s...))}
	}
	for about, tc := range map[string]struct {
		args  []string
		epoch string
		want  string
	}{
		"a missing flag":                     {args: []string{"-binary", ""}, want: "-binary is missing, see -h"},
		"a stray argument":                   {args: []string{"-binary", static, "extra"}, want: `unexpected argument "extra"`},
		"a binary that is not there":         {args: []string{"-binary", filepath.Join(dir, "none")}, want: "no such file; build it first (CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -o "},
		"a directory as binary":              {args: []string{"-binary", dir}, want: "-binary " + dir + ": is a directory"},
		"an unknown architecture":            {args: []string{"-binary", static, "-arch", "mips"}, want: `-arch "mips": want amd64 or arm64`},
		"one file for two architectures":     {args: []string{"-binary", static, "-arch", "amd64,arm64"}, want: "one file cannot be for amd64 and arm64; write {arch} where their names differ"},
		"a file of text":                     {args: []string{"-binary", file(t, []byte("#!/bin/sh\n"))}, want: "not a Linux executable: it has no ELF header"},
		"a cut-off executable":               {args: []string{"-binary", file(t, []byte(elf.ELFMAG+"\x02\x01\x01"))}, want: "not a Linux executable: "},
		"another architecture":               {args: []string{"-binary", static, "-arch", "arm64"}, want: "built for amd64, not for arm64; set GOARCH=arm64"},
		"an architecture that is not known":  {args: elfOf(elf.ET_EXEC, elf.EM_S390), want: "built for EM_S390, not for amd64"},
		"an object file":                     {args: elfOf(elf.ET_REL, elf.EM_X86_64), want: "not an executable: ELF type ET_REL"},
		"a binary that needs a loader":       {args: elfOf(elf.ET_DYN, elf.EM_X86_64, loader), want: "not statically linked: it asks for the loader /lib64/ld-linux-x86-64.so.2; set CGO_ENABLED=0"},
		"a binary that needs libraries":      {args: elfOf(elf.ET_DYN, elf.EM_X86_64, dynamic(elf.DT_SONAME, elf.DT_NEEDED, elf.DT_NULL)), want: "not statically linked: it asks for shared libraries"},
		"a name without registry":            {args: []string{"-binary", static, "-tag", "reroll:1"}, want: `-tag "reroll:1": no registry in front; write the whole name, such as localhost/reroll:0.1.0-dev`},
		"a name with an owner, no registry":  {args: []string{"-binary", static, "-tag", "me/reroll:1"}, want: "no registry in front"},
		"a registry that is no host name":    {args: []string{"-binary", static, "-tag", "-x.io/reroll:1"}, want: `the registry "-x.io" is no host name`},
		"a name without tag":                 {args: []string{"-binary", static, "-tag", "localhost/reroll"}, want: "no tag behind the name"},
		"an empty tag":                       {args: []string{"-binary", static, "-tag", "localhost/reroll:"}, want: `the tag "" may hold`},
		"a tag that starts with a dash":      {args: []string{"-binary", static, "-tag", "localhost/reroll:-1"}, want: "may not start with a dot or dash"},
		"a tag that is too long":             {args: []string{"-binary", static, "-tag", "localhost/reroll:" + strings.Repeat("a", 129)}, want: "up to 128"},
		"a name in upper case":               {args: []string{"-binary", static, "-tag", "localhost/Reroll:1"}, want: `the name part "Reroll" may hold lower-case`},
		"an empty part of the name":          {args: []string{"-binary", static, "-tag", "localhost/a//b:1"}, want: `the name part "" may hold`},
		"a name that is too long":            {args: []string{"-binary", static, "-tag", "localhost/" + strings.Repeat("a", 250) + ":1"}, want: "260 characters before the tag, 255 are allowed"},
		"a digest":                           {args: []string{"-binary", static, "-tag", name + "@sha256:00"}, want: "a digest cannot be chosen"},
		"an output directory that is absent": {args: []string{"-binary", static, "-o", filepath.Join(dir, "none", "x.tar")}, want: "cannot write to the directory " + filepath.Join(dir, "none") + ": no such file or directory"},
		"a directory as output":              {args: []string{"-binary", static, "-o", dir}, want: "exists and is not a regular file"},
		"a time that is no number":           {args: []string{"-binary", static}, epoch: "yesterday", want: `SOURCE_DATE_EPOCH="yesterday": want whole seconds since 1970`},
		"a time before 1970":                 {args: []string{"-binary", static}, epoch: "-1", want: "want whole seconds since 1970"},
	} {
		t.Run(about, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "image.tar")
			args := append([]string{"-arch", "amd64", "-tag", name, "-o", out}, tc.args...)
			err := run(args, tc.epoch, &bytes.Buffer{}, &bytes.Buffer{})
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error: %v\nwant it to say: %s", err, tc.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("an archive was written all the same")
			}
		})
	}
}

func TestAcceptedNames(t *testing.T) {
	for _, s := range []string{
		name,
		"localhost:5000/reroll:dev",
		"registry.example.com/team/a-b_c__d.e/reroll:v1.2.3_x-Y",
		"127.0.0.1:443/reroll:" + strings.Repeat("a", 128),
	} {
		n, err := parseName(s)
		if err != nil || n.String() != s {
			t.Errorf("parseName(%q) = %q, %v", s, n, err)
		}
	}
}

func TestAcceptsAStaticPositionIndependentExecutable(t *testing.T) {
	binary := file(t, forge(t, elf.ET_DYN, elf.EM_AARCH64, dynamic(elf.DT_SONAME, elf.DT_NULL, elf.DT_NEEDED)))
	build(t, "", "-binary", binary, "-arch", "arm64", "-tag", name)
}
