// Command image puts one static binary into a container image archive, without Docker and without a registry.
//
//	go run ./tools/image -binary bin/reroll-linux-amd64 -arch amd64 -tag localhost/reroll:0.1.0-dev -o bin/reroll-image.tar
//
// The archive is what `docker save` writes: an OCI layout with a manifest.json beside it. Docker reads the one, containerd
// the other, and kind needs both. The same binary, name and SOURCE_DATE_EPOCH give the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

const example = "localhost/reroll:0.1.0-dev"

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
	im, err := assemble(o)
	if err != nil {
		return err
	}
	size, err := im.write(o.out)
	if err != nil {
		return err
	}
	return summary(stdout, o, im, size)
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("image", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.binary, "binary", "", "the static Linux `file` to run in the image")
	fs.StringVar(&o.arch, "arch", "", "its architecture: "+strings.Join(architectures(), " or "))
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
func assemble(o options) (*image, error) {
	name, err := parseName(o.tag)
	if err != nil {
		return nil, fmt.Errorf("-tag %q: %w", o.tag, err)
	}
	created, err := parseEpoch(o.epoch)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH=%q: %w", o.epoch, err)
	}
	binary, err := readBinary(o.binary, o.arch)
	if err != nil {
		return nil, err
	}
	return newImage(name, o.arch, binary, created)
}

func summary(w io.Writer, o options, im *image, size int64) error {
	_, err := fmt.Fprintf(w, `%s: %s for linux/%s, %.1f MiB, image id %s
  docker load -i %s
  kind load image-archive %s
  ctr -n k8s.io images import %s
`, o.out, o.tag, o.arch, float64(size)/(1<<20), im.config.digest, o.out, o.out, o.out)
	return err
}
