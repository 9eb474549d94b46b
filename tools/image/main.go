// Command image puts a static binary into a container image archive, without Docker and without a
// registry.
//
//	go run ./tools/image -binary bin/reroll-linux-amd64 -arch amd64 -tag localhost/reroll:0.1.0-dev -o bin/reroll-image.tar
//
// The archive is what `docker save` writes: an OCI layout with a manifest.json beside it. Docker
// reads the one, containerd the other, and kind needs both. For a registry there may be one archive
// for several architectures, an OCI layout alone:
//
//	go run ./tools/image -binary 'bin/reroll-linux-{arch}' -arch amd64,arm64 -tag localhost/reroll:0.1.0-dev -o bin/reroll-image-oci.tar
//
// The same binaries, name and SOURCE_DATE_EPOCH give the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	example = "localhost/reroll:0.1.0-dev"
	// inPlace stands for the architecture in the name of a binary.
	inPlace = "{arch}"
)

type options struct {
	binary string
	arch   string
	tag    string
	out    string
	epoch  string
}

func main() {
	err := run(os.Args[1:], os.Getenv("SOURCE_DATE_EPOCH"), os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// errUsage stands for a complaint that the flag package has already printed.
var errUsage = errors.New("wrong usage")

func run(args []string, epoch string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	o.epoch = epoch
	images, err := assemble(o)
	if err != nil {
		return err
	}
	digest, size, err := write(images, o.out)
	if err != nil {
		return err
	}
	if len(images) > 1 {
		return summaryOfAll(stdout, o, digest, size)
	}
	return summary(stdout, o, images[0], digest, size)
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("image", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.binary, "binary", "", "the static Linux `file` to run in the image; "+inPlace+" in it stands for each architecture")
	fs.StringVar(&o.arch, "arch", "", "its architecture: "+strings.Join(architectures(), " or ")+", or both with a comma between them")
	fs.StringVar(&o.tag, "tag", "", "full `name` of the image, such as "+example)
	fs.StringVar(&o.out, "o", "", "archive `file` to write; replaced if it exists")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, errUsage
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: everything is given by flags, see -h", fs.Arg(0))
	}
	for _, f := range []struct{ name, value string }{{"binary", o.binary}, {"arch", o.arch}, {"tag", o.tag}, {"o", o.out}} {
		if f.value == "" {
			return o, fmt.Errorf("-%s is missing, see -h", f.name)
		}
	}
	return o, nil
}

// assemble checks every input before the first byte is written.
func assemble(o options) ([]*image, error) {
	name, err := parseName(o.tag)
	if err != nil {
		return nil, fmt.Errorf("-tag %q: %w", o.tag, err)
	}
	created, err := parseEpoch(o.epoch)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH=%q: %w", o.epoch, err)
	}
	archs := strings.Split(o.arch, ",")
	if len(archs) > 1 && !strings.Contains(o.binary, inPlace) {
		return nil, fmt.Errorf("-binary %s: one file cannot be for %s; write %s where their names differ", o.binary, strings.Join(archs, " and "), inPlace)
	}
	var images []*image
	for _, arch := range archs {
		binary, err := readBinary(strings.ReplaceAll(o.binary, inPlace, arch), arch)
		if err != nil {
			return nil, err
		}
		im, err := newImage(name, arch, binary, created)
		if err != nil {
			return nil, err
		}
		images = append(images, im)
	}
	return images, nil
}

func summary(w io.Writer, o options, im *image, digest string, size int64) error {
	_, err := fmt.Fprintf(w, `%s: %s for linux/%s, %.1f MiB, digest %s, image id %s
  docker load -i %s
  kind load image-archive %s
  ctr -n k8s.io images import %s
`, o.out, o.tag, o.arch, float64(size)/(1<<20), digest, im.config.digest, o.out, o.out, o.out)
	return err
}

func summaryOfAll(w io.Writer, o options, digest string, size int64) error {
	_, err := fmt.Fprintf(w, "%s: %s for %s, %.1f MiB, digest %s; an OCI layout for a registry, which Docker and kind do not load\n",
		o.out, o.tag, o.arch, float64(size)/(1<<20), digest)
	return err
}
