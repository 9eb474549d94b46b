package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Request is what an API server notes of one in its audit log.
type Request struct {
	Verb       string
	RequestURI string
	User       struct{ Username string }
	ObjectRef  struct{ APIGroup, Resource, Namespace, Name, Subresource string }
	Status     struct{ Code int } `json:"responseStatus"`
}

// Requests are those that the accounts of the namespace have made, the controller's, as the audit
// log of the API server holds them. A watch is among them from its beginning, all others when they
// are answered.
func (n *Namespace) Requests(auditLog string) ([]Request, error) {
	account := "system:serviceaccount:" + n.Name + ":"
	return requests(auditLog, account, func(user string) bool { return strings.HasPrefix(user, account) })
}

// AllRequests are those of the account of this manifest in all namespaces that were made by this
// harness. On a cluster that packages share, the account has the same name in the namespaces of
// others.
func (h *Harness) AllRequests(m *Manifest, auditLog string) ([]Request, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return requests(auditLog, ":"+m.account+`"`, func(user string) bool {
		account, found := strings.CutPrefix(user, "system:serviceaccount:")
		namespace, name, _ := strings.Cut(account, ":")
		return found && name == m.account && h.namespaces[namespace]
	})
}

// requests are those of some users. In each line about them there is a text.
func requests(auditLog, text string, by func(user string) bool) ([]Request, error) {
	file, err := os.Open(auditLog)
	if err != nil {
		return nil, fmt.Errorf("read what the API server was asked: %w", err)
	}
	defer file.Close()
	var found []Request
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), []byte(text)) {
			continue // most lines are about others, and it takes long to parse them
		}
		var entry struct {
			Stage string
			Request
		}
		// The last line may be only half written.
		if json.Unmarshal(lines.Bytes(), &entry) != nil {
			continue
		}
		// A watch is noted when it begins, and once more when it ends.
		if (entry.Verb == "watch") != (entry.Stage == "ResponseStarted") || entry.Verb != "watch" && entry.Stage != "ResponseComplete" {
			continue
		}
		if by(entry.User.Username) {
			found = append(found, entry.Request)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read what the API server was asked: %w", err)
	}
	return found, nil
}

// Writes counts the writes of the controller to an object that the API server has taken.
func (n *Namespace) Writes(auditLog string, ref Ref) (int, error) {
	gvk, errKind := n.clients.mapper.KindFor(schema.ParseGroupResource(ref.Kind).WithVersion(""))
	mapping, errMapping := n.clients.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err := errors.Join(errKind, errMapping); err != nil {
		return 0, fmt.Errorf("%s: %w", ref, err)
	}
	requests, err := n.Requests(auditLog)
	count := 0
	for _, r := range requests {
		read := slices.Contains([]string{"get", "list", "watch"}, r.Verb)
		about := r.ObjectRef.Namespace == n.Name && r.ObjectRef.Resource == mapping.Resource.Resource && r.ObjectRef.APIGroup == mapping.Resource.Group && r.ObjectRef.Name == ref.Name
		if about && !read && r.Status.Code/100 == 2 {
			count++
		}
	}
	return count, err
}
