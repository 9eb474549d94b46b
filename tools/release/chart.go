package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	chartDir   = "charts/reroll"
	libraryDir = "charts/reroll-checksum"
	deployDir  = "deploy"
)

// The lines that a release sets in the chart: each is to be there once.
var (
	chartVersion    = regexp.MustCompile(`(?m)^version: .*$`)
	chartAppVersion = regexp.MustCompile(`(?m)^appVersion: .*$`)
	chartRepository = regexp.MustCompile(`(?m)^  repository: .*$`)
)

// charts packs the charts with the version, and with the place where the image will be.
func (r *release) charts(context.Context) error {
	for _, folder := range []string{chartDir, libraryDir} {
		name := filepath.Base(folder)
		files, err := r.chartFiles(folder)
		if err != nil {
			return fmt.Errorf("pack the chart %s: %w", name, err)
		}
		r.say("packing the chart %s", name)
		for i := range files {
			// Helm wants the folder of the chart's name in front.
			files[i].name = name + "/" + files[i].name
		}
		if err := r.tarball(name+"-"+r.version+".tgz", files); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) chartFiles(folder string) ([]packed, error) {
	var files []packed
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path) //nolint:gosec // a folder of this repository
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, folder+string(filepath.Separator)))
		switch name {
		case "Chart.yaml":
			// A library installs nothing, so it has no version of what it installs.
			if data, err = setLine(data, chartVersion, "version: "+r.version); err == nil && folder != libraryDir {
				data, err = setLine(data, chartAppVersion, `appVersion: "`+r.version+`"`)
			}
		case "values.yaml":
			data, err = setLine(data, chartRepository, "  repository: "+r.repository)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		files = append(files, packed{name: name, mode: 0o644, data: data})
		return nil
	})
	return files, err
}

func setLine(data []byte, line *regexp.Regexp, to string) ([]byte, error) {
	if n := len(line.FindAllIndex(data, -1)); n != 1 {
		return nil, fmt.Errorf("%d lines match %s, want one", n, line)
	}
	return line.ReplaceAllLiteral(data, []byte(to)), nil
}

// manifests puts the version and the image's place into the manifests of deploy/, which are made
// from the chart.
func (r *release) manifests(context.Context) error {
	files, err := filepath.Glob(filepath.Join(deployDir, "*.yaml"))
	if err != nil {
		return fmt.Errorf("look for manifests: %w", err)
	}
	in, err := r.chartNow()
	if err != nil {
		return err
	}
	r.say("the manifests of %s", deployDir)
	named := false
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text := string(data)
		named = named || strings.Contains(text, in.image())
		text = strings.ReplaceAll(text, in.image(), r.repository+":"+r.version)
		// What is left are the labels that name the version.
		text = strings.ReplaceAll(text, in.appVersion, r.version)
		if err := r.write(filepath.Base(file), []byte(text)); err != nil {
			return err
		}
	}
	if !named {
		return fmt.Errorf("no manifest in %s names the image %s; make generate writes them", deployDir, in.image())
	}
	return nil
}

// chartNow is what the chart of the working tree says.
type chartNow struct{ repository, appVersion string }

func (c chartNow) image() string { return c.repository + ":" + c.appVersion }

func (r *release) chartNow() (chartNow, error) {
	var c chartNow
	for _, from := range []struct {
		file string
		line *regexp.Regexp
		to   *string
	}{{"values.yaml", chartRepository, &c.repository}, {"Chart.yaml", chartAppVersion, &c.appVersion}} {
		data, err := os.ReadFile(filepath.Join(chartDir, from.file))
		if err != nil {
			return c, err
		}
		_, value, _ := strings.Cut(string(from.line.Find(data)), ": ")
		if *from.to = strings.Trim(value, `"`); *from.to == "" {
			return c, fmt.Errorf("%s/%s: no line matches %s", chartDir, from.file, from.line)
		}
	}
	return c, nil
}
