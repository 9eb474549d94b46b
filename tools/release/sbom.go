package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// A list of what a file consists of, as SPDX 2.3 has it. It is read from the binary itself, where
// the linker has written which modules are in it.
type bill struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Created       creation       `json:"creationInfo"`
	Packages      []component    `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type component struct {
	ID        string     `json:"SPDXID"`
	Name      string     `json:"name"`
	Version   string     `json:"versionInfo"`
	Location  string     `json:"downloadLocation"`
	Analyzed  bool       `json:"filesAnalyzed"`
	Concluded string     `json:"licenseConcluded"`
	Declared  string     `json:"licenseDeclared"`
	Copyright string     `json:"copyrightText"`
	Checksums []checksum `json:"checksums,omitempty"`
	Refs      []ref      `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type ref struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const (
	documentID = "SPDXRef-DOCUMENT"
	noInfo     = "NOASSERTION"
	licence    = "Apache-2.0"
	// certificatesModule is in the image beside the binary, as a file.
	certificatesModule = "golang.org/x/crypto/x509roots/fallback"
)

// listModules writes the list of a binary.
func (r *release) listModules(name, binary string) error {
	b, err := r.bill(name, binary)
	if err != nil {
		return err
	}
	return r.writeBill(name, b)
}

// listImage writes that of an image, which holds certificates, too.
func (r *release) listImage(ctx context.Context, name, binary string) error {
	b, err := r.bill(name, binary)
	if err != nil {
		return err
	}
	text, err := output(ctx, nil, "go", "list", "-m", "-json", certificatesModule)
	if err != nil {
		return err
	}
	var m debug.Module
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return fmt.Errorf("list the certificates: %w", err)
	}
	b.add(&m, "CONTAINS")
	return r.writeBill(name, b)
}

func (r *release) bill(name, binary string) (*bill, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("list what is in %s: %w", name, err)
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("list what is in %s: %w", name, err)
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	b := &bill{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: documentID, Name: name,
		Namespace: "https://" + info.Main.Path + "/spdx/" + name + "-" + digest,
		Created:   creation{r.date.Format(time.RFC3339), []string{"Tool: " + info.Main.Path + "/tools/release"}},
		Packages: []component{{
			ID: "SPDXRef-reroll", Name: "reroll", Version: r.version, Location: "https://" + info.Main.Path,
			Concluded: licence, Declared: licence, Copyright: noInfo,
			Checksums: []checksum{{"SHA256", digest}},
			Refs:      []ref{purl(info.Main.Path, "v"+r.version)},
		}},
		Relationships: []relationship{{documentID, "DESCRIBES", "SPDXRef-reroll"}},
	}
	b.add(&debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}, "DEPENDS_ON")
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.add(m, "DEPENDS_ON")
	}
	return b, nil
}

func (b *bill) add(m *debug.Module, as string) {
	c := component{
		ID: "SPDXRef-" + idOf(m.Path), Name: m.Path, Version: m.Version, Location: noInfo,
		Concluded: noInfo, Declared: noInfo, Copyright: noInfo, Refs: []ref{purl(m.Path, m.Version)},
	}
	// The sum of a module is a SHA-256 over the list of its files, not over one file; go.sum has
	// the same one.
	if sum, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
		if raw, err := base64.StdEncoding.DecodeString(sum); err == nil {
			c.Checksums = []checksum{{"SHA256", hex.EncodeToString(raw)}}
		}
	}
	b.Packages = append(b.Packages, c)
	b.Relationships = append(b.Relationships, relationship{"SPDXRef-reroll", as, c.ID})
}

// idOf keeps what an identifier may hold.
func idOf(path string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		default:
			return '-'
		}
	}, path)
}

// purl names a module to programs that look for known holes.
func purl(path, version string) ref {
	return ref{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}
}

func (r *release) writeBill(name string, b *bill) error {
	data, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		return fmt.Errorf("list what is in %s: %w", name, err)
	}
	return r.write(name+".spdx.json", append(data, '\n'))
}
