package cluster

import (
	"context"
	_ "embed"
	"strings"
)

//go:embed crds/reference-grants.yaml
var referenceGrants string

// InstallReferenceGrants installs the ReferenceGrants of the Gateway API, and returns when the API
// server serves them: in version v1beta1, and in v1 as well if the release has that.
func (c *Cluster) InstallReferenceGrants(ctx context.Context, newest bool) error {
	text := referenceGrants
	if !newest {
		text = strings.Replace(text, "  - name: v1\n    served: true\n", "  - name: v1\n    served: false\n", 1)
	}
	_, err := c.InstallCRDs(ctx, []byte(text))
	return err
}
