package stamp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Messages about broken manifests go to logs of CI, and must never contain a password.
func TestNoMistakeShowsAPassword(t *testing.T) {
	const password = "hunter2"
	secret := func(body string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\n" + body + "\n"
	}
	pods := func(container string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n" + container + "\n"
	}
	for about, text := range map[string]string{
		"an alias":                   secret("stringData:\n  a: b\n  password: *hunter2"),
		"an alias with signs":        secret("stringData:\n  password: *hunter2!@#"),
		"an alias in JSON":           secret(`stringData: {"a": "b", "password": *hunter2}`),
		"an alias as a key":          secret("stringData:\n  *hunter2 : b"),
		"an alias as a merge":        secret("stringData:\n  <<: *hunter2"),
		"an alias in a Deployment":   pods("      - name: app\n        env: [{name: A, value: *hunter2}]"),
		"an anchor alone":            secret("stringData:\n  password: &hunter2\n  other: *hunter"),
		"an anchor twice":            secret("stringData:\n  password: &hunter2 &hunter2 a"),
		"an anchor in itself":        secret("stringData: &hunter2\n  a: *hunter2"),
		"a tag":                      secret("data:\n  password: !hunter2"),
		"a tag of another":           secret("data:\n  password: !hunter2!x y"),
		"a tag without an end":       secret("data:\n  password: !<hunter2"),
		"a number that is none":      secret("stringData:\n  password: !!int hunter2"),
		"a fraction that is none":    secret("data:\n  password: !!float hunter2"),
		"bytes that are none":        secret("data:\n  password: !!binary hunter2!"),
		"a time that is none":        secret("data:\n  password: !!timestamp hunter2"),
		"no base64":                  secret("data:\n  password: hunter2"),
		"a number":                   secret("stringData:\n  password: 0x2\n  hunter2"),
		"a percent":                  secret("stringData:\n  password: %hunter2"),
		"a directive":                secret("stringData:\n  password: a\n---\n%hunter2\n---\na: b"),
		"an at sign":                 secret("stringData:\n  password: @hunter2"),
		"a back quote":               secret("stringData:\n  password: `hunter2`"),
		"a quote that stays open":    secret("stringData:\n  password: \"hunter2"),
		"a single quote":             secret("stringData:\n  password: 'hunter2"),
		"a wrong escape":             secret("stringData:\n  password: \"\\hunter2\""),
		"text behind a quote":        secret("stringData:\n  password: 'a'hunter2"),
		"a colon in it":              secret("stringData:\n  password: hunter2: b"),
		"a block of text":            secret("stringData:\n  password: |hunter2\n    a"),
		"an indicator":               secret("stringData:\n  password: |0\n    hunter2"),
		"a folded text":              secret("stringData:\n  password: >-9hunter2\n    a"),
		"a tab":                      secret("stringData:\n\tpassword: hunter2"),
		"a control character":        secret("stringData:\n  password: hunter2\x01"),
		"no UTF-8":                   secret("stringData:\n  password: hunter2\xff"),
		"indented":                   secret("stringData:\n  a: b\n password: hunter2"),
		"no space":                   secret("stringData:\n  password:hunter2\n  a: b"),
		"a list":                     secret("stringData: [hunter2]"),
		"a list of it":               secret("stringData:\n  password: [hunter2]"),
		"a text for all":             secret("stringData: hunter2"),
		"a mapping":                  secret("stringData:\n  password:\n    hunter2: a"),
		"a set":                      secret("stringData: {hunter2, hunter2}"),
		"a set in lines":             secret("stringData:\n  ? hunter2\n  ? hunter2"),
		"a set of its own":           secret("stringData:\n  password: {hunter2, hunter2}"),
		"lines that are keys":        secret("stringData:\n  password:\n    hunter2 x: a\n    hunter2 x: b"),
		"an address as a key":        secret("stringData:\n  password:\n    https://a:hunter2@b: a\n    https://a:hunter2@b: b"),
		"an open brace":              secret("stringData: {password: hunter2"),
		"an open bracket":            secret("stringData: {password: [hunter2}"),
		"nothing but it":             "hunter2\n",
		"two of it":                  "hunter2\n---\nhunter2\n",
		"a key alone":                "hunter2: a\n",
		"a byte order mark":          secret("stringData: {a: b}") + "---\n" + byteOrderMark + "hunter2: b\n",
		"another document":           secret("stringData: {a: b}") + "} hunter2\n",
		"behind a document":          `{"kind": "Secret", "apiVersion": "v1"} hunter2`,
		"a container":                pods("      - hunter2"),
		"containers":                 "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: hunter2}}}\n",
		"a variable":                 pods("      - {name: app, env: hunter2}"),
		"a variable in a list":       pods("      - {name: app, env: [hunter2]}"),
		"a reference":                pods("      - {name: app, envFrom: [{secretRef: hunter2}]}"),
		"an option":                  pods("      - {name: app, envFrom: [{secretRef: {name: a, optional: hunter2}}]}"),
		"a quantity":                 pods("      - {name: app, env: [{name: a, valueFrom: {resourceFieldRef: {resource: a, divisor: hunter2}}}]}"),
		"annotations":                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {metadata: {annotations: hunter2}, spec: {}}}\n",
		"annotations that are other": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {metadata: {annotations: {checksum/config: hunter2, checksum/reroll: hunter2}}, spec: {}}}\n",
		"a SealedSecret":             "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: db}\nspec:\n  encryptedData: {a: *hunter2}\n",
		"no apiVersion":              "kind: Secret\nstringData: {password: hunter2}\n",
		"an item":                    "apiVersion: v1\nkind: List\nitems:\n- kind: Secret\n  stringData: {password: *hunter2}\n- hunter2\n",
		"an item that is none":       "apiVersion: v1\nkind: List\nitems:\n- hunter2\n- hunter2\n",
		"another Secret":             secret("stringData: {password: hunter2}") + "---\n" + secret("stringData: {password: hunter3}"),
	} {
		for _, o := range []string{"all\nplain", "all\nkey", "all"} {
			got := stamped(optionsOf(t, []byte(o)), []txtar.File{{Name: "db.yaml", Data: []byte(text)}})
			if said := got["error"] + got["notes"]; strings.Contains(said, password) {
				t.Errorf("%s, with %q: %s", about, o, said)
			}
		}
	}
	// The message still has the position.
	for text, want := range map[string]string{
		secret("stringData:\n  note: \"*hunter2\"\n  password: *hunter2"):        "db.yaml:7: an alias has no anchor",
		secret("stringData:\n  password: {hunter2, hunter2}"):                    "db.yaml:6: a key is twice in this line",
		secret("stringData:\n  password: a\n  password: b"):                      `db.yaml:7: key "password" is here a second time; the first is 1 line above`,
		pods("      - {name: app, envFrom: [{secretRef: {optional: hunter2}}]}"): "db.yaml:6: the pod template of Deployment web cannot be read: containers.envFrom.secretRef.optional must be true or false",
		pods("      - {name: app, envFrom: {secretRef: {name: hunter2}}}"):       "db.yaml:6: the pod template of Deployment web cannot be read: containers.envFrom must be a list",
		pods("      - {name: app, env: [hunter2]}"):                              "db.yaml:6: the pod template of Deployment web cannot be read: what is in containers.env must be keys with values",
		pods("      - {name: app, envFrom: [{secretRef: {name: [hunter2]}}]}"):   "db.yaml:6: the pod template of Deployment web cannot be read: containers.envFrom.secretRef.name must be a text",
	} {
		got := stamped(optionsOf(t, []byte("all")), []txtar.File{{Name: "db.yaml", Data: []byte(text)}})["error"]
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s\nmust be %s", fmt.Sprintf("%q: %s", text, got), want)
		}
	}
}
