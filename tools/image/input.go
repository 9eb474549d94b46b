package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// imageName is a complete image reference: Docker and containerd complete a shorter one
// differently.
type imageName struct {
	repository string
	tag        string
}

func (n imageName) String() string { return n.repository + ":" + n.tag }

var (
	hostSyntax = regexp.MustCompile(`^[a-zA-Z0-9]+([.-]+[a-zA-Z0-9]+)*(:[0-9]+)?$`)
	pathSyntax = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*$`)
	tagSyntax  = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}$`)
)

func parseName(s string) (imageName, error) {
	if strings.Contains(s, "@") {
		return imageName{}, errors.New("a digest cannot be chosen, it follows from the content; leave out the part after @")
	}
	host, rest, found := strings.Cut(s, "/")
	if !found || (host != "localhost" && !strings.ContainsAny(host, ".:")) {
		return imageName{}, fmt.Errorf("no registry in front; write the whole name, such as %s", example)
	}
	path, tag, found := strings.Cut(rest, ":")
	if !found {
		return imageName{}, fmt.Errorf("no tag behind the name, such as %s", example)
	}
	if !hostSyntax.MatchString(host) {
		return imageName{}, fmt.Errorf("the registry %q is no host name with an optional port", host)
	}
	for part := range strings.SplitSeq(path, "/") {
		if !pathSyntax.MatchString(part) {
			return imageName{}, fmt.Errorf("the name part %q may hold lower-case letters and digits, with dots, dashes or underscores between them", part)
		}
	}
	if !tagSyntax.MatchString(tag) {
		return imageName{}, fmt.Errorf("the tag %q may hold up to 128 letters, digits, underscores, dots and dashes, and may not start with a dot or dash", tag)
	}
	if n := len(host) + 1 + len(path); n > 255 {
		return imageName{}, fmt.Errorf("the name has %d characters before the tag, 255 are allowed", n)
	}
	return imageName{repository: host + "/" + path, tag: tag}, nil
}

// parseEpoch reads the moment that stands for every time in the archive; without one it is 1970,
// never now.
func parseEpoch(s string) (time.Time, error) {
	if s == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	sec, err := strconv.ParseInt(s, 10, 64)
	// Past 2^33 s a USTAR header cannot hold the time.
	if err != nil || sec < 0 || sec >= 1<<33 {
		return time.Time{}, errors.New("want whole seconds since 1970, such as 1767225600")
	}
	return time.Unix(sec, 0).UTC(), nil
}

// machines maps Go's names to the machine of an ELF header; OCI uses Go's names.
func machines() map[string]elf.Machine {
	return map[string]elf.Machine{
		"amd64": elf.EM_X86_64,
		"arm64": elf.EM_AARCH64,
	}
}

func architectures() []string { return slices.Sorted(maps.Keys(machines())) }

func machineName(m elf.Machine) string {
	for arch, known := range machines() {
		if known == m {
			return arch
		}
	}
	return m.String()
}

// readBinary returns the content that it checked, so that nothing else can end up in the image.
func readBinary(path, arch string) ([]byte, error) {
	machine, known := machines()[arch]
	if !known {
		return nil, fmt.Errorf("-arch %q: want %s", arch, strings.Join(architectures(), " or "))
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("-binary %s: no such file; build it first (CGO_ENABLED=0 GOOS=linux GOARCH=%s go build -o %s ./cmd/reroll)", path, arch, path)
	}
	if err != nil {
		return nil, fmt.Errorf("-binary %s: %w", path, cause(err))
	}
	if err := checkBinary(data, arch, machine); err != nil {
		return nil, fmt.Errorf("-binary %s: %w", path, err)
	}
	return data, nil
}

// cause leaves out what package os adds, since the message already names the file that the user
// gave.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}

func checkBinary(data []byte, arch string, machine elf.Machine) error {
	if !bytes.HasPrefix(data, []byte(elf.ELFMAG)) {
		return errors.New("not a Linux executable: it has no ELF header; set GOOS=linux when building")
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("not a Linux executable: %w", err)
	}
	if f.Class != elf.ELFCLASS64 || f.Machine != machine {
		return fmt.Errorf("built for %s, not for %s; set GOARCH=%s when building", machineName(f.Machine), arch, arch)
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return fmt.Errorf("not an executable: ELF type %s", f.Type)
	}
	// The image holds no loader and no library: such a binary would fail at start with "no such
	// file".
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			loader := make([]byte, min(p.Filesz, 256))
			if _, err := p.ReadAt(loader, 0); err != nil {
				return fmt.Errorf("reading its loader: %w", err)
			}
			return fmt.Errorf("not statically linked: it asks for the loader %s; set CGO_ENABLED=0 when building", bytes.TrimRight(loader, "\x00"))
		}
		if p.Type == elf.PT_DYNAMIC {
			needs, err := needsLibrary(f, p)
			if err != nil {
				return err
			}
			if needs {
				return errors.New("not statically linked: it asks for shared libraries; set CGO_ENABLED=0 when building")
			}
		}
	}
	return nil
}

// needsLibrary reads the segment, not the section of the same content: the section can be stripped,
// the loader uses the segment.
func needsLibrary(f *elf.File, p *elf.Prog) (bool, error) {
	entries := make([]byte, p.Filesz)
	if _, err := p.ReadAt(entries, 0); err != nil {
		return false, fmt.Errorf("reading its dynamic segment: %w", err)
	}
	for ; len(entries) >= 16; entries = entries[16:] {
		switch f.ByteOrder.Uint64(entries) {
		case uint64(elf.DT_NEEDED):
			return true, nil
		case uint64(elf.DT_NULL):
			return false, nil
		}
	}
	return false, nil
}
