package chart

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const repository = "https://github.com/reroll-dev/reroll"

// about is what the file Chart.yaml says about a chart.
type about struct {
	Home        string            `json:"home"`
	Sources     []string          `json:"sources"`
	Icon        string            `json:"icon"`
	Keywords    []string          `json:"keywords"`
	Maintainers []link            `json:"maintainers"`
	Annotations map[string]string `json:"annotations"`
	Version     string            `json:"version"`
}

type link struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

func TestWhatTheChartsSayAboutThemselvesIsThere(t *testing.T) {
	for _, name := range []string{"reroll", "reroll-checksum"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, "charts", name, "Chart.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var a about
			if err := yaml.Unmarshal(text, &a); err != nil {
				t.Fatal(err)
			}
			if a.Home != repository || !slices.Equal(a.Sources, []string{repository}) || len(a.Keywords) == 0 || len(a.Maintainers) == 0 {
				t.Errorf("home %s, sources %v, keywords %v, maintainers %v", a.Home, a.Sources, a.Keywords, a.Maintainers)
			}
			links := parse[[]link](t, a.Annotations["artifacthub.io/links"])
			for _, to := range append(links, a.Maintainers...) {
				expectFile(t, to)
			}
			if len(links) == 0 || a.Annotations["artifacthub.io/license"] != "Apache-2.0" || a.Annotations["artifacthub.io/category"] != "integration-delivery" {
				t.Errorf("annotations: %v", a.Annotations)
			}
			if a.Annotations["artifacthub.io/prerelease"] != "true" && strings.HasPrefix(a.Version, "0.") {
				t.Errorf("%s is no pre-release", a.Version)
			}
			for _, c := range parse[[]struct{ Kind, Description string }](t, a.Annotations["artifacthub.io/changes"]) {
				if !slices.Contains([]string{"added", "changed", "deprecated", "removed", "fixed", "security"}, c.Kind) || c.Description == "" {
					t.Errorf("change: %+v", c)
				}
			}
			expectImage(t, a.Icon)
		})
	}
}

// expectFile expects that a page of the repository exists.
func expectFile(t *testing.T, to link) {
	t.Helper()
	path, found := strings.CutPrefix(to.URL, repository+"/blob/main/")
	if _, err := os.Stat(filepath.Join(root, path)); !found || err != nil {
		t.Errorf("%s: %s is no page of the repository: %v", to.Name, to.URL, err)
	}
}

// expectImage expects a data address of a well-formed image.
func expectImage(t *testing.T, icon string) {
	t.Helper()
	encoded, found := strings.CutPrefix(icon, "data:image/svg+xml;base64,")
	image, err := base64.StdEncoding.DecodeString(encoded)
	if !found || err != nil {
		t.Fatalf("the icon is %.40s…: %v", icon, err)
	}
	decoder := xml.NewDecoder(strings.NewReader(string(image)))
	var names []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, image)
		}
		if start, is := token.(xml.StartElement); is {
			names = append(names, start.Name.Local)
		}
	}
	if len(names) < 2 || names[0] != "svg" {
		t.Errorf("the icon has the elements %v", names)
	}
}
