package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

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

// DryRun reports whether the request stored nothing.
func (r *Request) DryRun() bool { return strings.Contains(r.RequestURI, "dryRun=All") }

// Requests are those that the accounts of the namespace have made, the controller's, as the audit
// log of the API server holds them. A watch is among them from its beginning, all others when they
// are answered.
func (n *Namespace) Requests(auditLog string) ([]Request, error) {
	account := "system:serviceaccount:" + n.Name + ":"
	n.asked.mu.Lock()
	defer n.asked.mu.Unlock()
	if n.asked.log != auditLog {
		n.asked.log, n.asked.until, n.asked.found = auditLog, 0, nil
	}
	found, until, err := requests(auditLog, n.asked.until, account, func(user string) bool { return strings.HasPrefix(user, account) })
	n.asked.until, n.asked.found = until, append(n.asked.found, found...)
	return slices.Clone(n.asked.found), err
}

// asked is what was found in an audit log up to a position. Scenarios ask again and again, and what
// all packages of a run have asked is long.
type asked struct {
	mu    sync.Mutex
	log   string
	until int64
	found []Request
}

// AllRequests are those of the account of this manifest in all namespaces that were made by this
// harness. On a cluster that packages share, the account has the same name in the namespaces of
// others.
func (h *Harness) AllRequests(m *Manifest, auditLog string) ([]Request, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all, _, err := requests(auditLog, 0, ":"+m.account+`"`, func(user string) bool {
		account, found := strings.CutPrefix(user, "system:serviceaccount:")
		namespace, name, _ := strings.Cut(account, ":")
		return found && name == m.account && h.namespaces[namespace]
	})
	return all, err
}

// requests are those of some users after a position in the log, and the position up to which it was
// read. In each line about them there is a text.
func requests(auditLog string, after int64, text string, by func(user string) bool) (found []Request, until int64, err error) {
	file, err := os.Open(auditLog)
	if err != nil {
		return nil, after, fmt.Errorf("read what the API server was asked: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(after, io.SeekStart); err != nil {
		return nil, after, fmt.Errorf("read what the API server was asked: %w", err)
	}
	lines := bufio.NewReaderSize(file, 1<<20)
	for until = after; ; {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return found, until, nil // the last line may be only half written
		}
		if err != nil {
			return found, until, fmt.Errorf("read what the API server was asked: %w", err)
		}
		until += int64(len(line))
		if !bytes.Contains(line, []byte(text)) {
			continue // most lines are about others, and it takes long to parse them
		}
		if r, noted := requestIn(line); noted && by(r.User.Username) {
			found = append(found, r)
		}
	}
}

// requestIn is the request that a line is about, if that is where it counts: a watch is noted when it
// begins, and once more when it ends.
func requestIn(line []byte) (Request, bool) {
	var entry struct {
		Stage string
		Request
	}
	if json.Unmarshal(line, &entry) != nil {
		return Request{}, false
	}
	counts := "ResponseComplete"
	if entry.Verb == "watch" {
		counts = "ResponseStarted"
	}
	return entry.Request, entry.Stage == counts
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
		if about && !read && !r.DryRun() && r.Status.Code/100 == 2 {
			count++
		}
	}
	return count, err
}
