package main

import (
	"context"
	"strconv"
	"strings"
)

// images packs the binaries for Linux: an archive for each architecture, which container engines
// load, and one of both, which registries take.
func (r *release) images(ctx context.Context) error {
	r.say("packing the images")
	var archs []string
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		archs = append(archs, p.arch)
		name := "reroll-image-" + r.version + "-" + p.arch
		if _, err := r.image(ctx, p.arch, name+".tar"); err != nil {
			return err
		}
		if err := r.listImage(ctx, name, r.binary(p)); err != nil {
			return err
		}
	}
	if len(archs) == 0 {
		return nil // nothing that runs in a container was asked for
	}
	digest, err := r.image(ctx, strings.Join(archs, ","), "reroll-image-"+r.version+"-oci.tar")
	if err != nil {
		return err
	}
	r.say("%s:%s will be %s", r.repository, r.version, digest)
	return r.write("image-digest.txt", []byte(digest+"\n"))
}

// image returns the digest that a registry will know the image by.
func (r *release) image(ctx context.Context, archs, name string) (string, error) {
	env := []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.date.Unix(), 10)}
	text, err := output(ctx, env, "go", "run", "./tools/image", "-binary", r.binary(platform{"linux", "{arch}"}), "-arch", archs,
		"-tag", r.tag(), "-o", r.path(name))
	if err != nil {
		return "", err
	}
	_, after, _ := strings.Cut(text, "digest ")
	return strings.TrimRight(strings.Fields(after)[0], ",;"), nil
}

func (r *release) tag() string { return r.repository + ":" + r.version }
