package report

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// onceNames has the names of events that are emitted once, also by controllers that follow each
// other. The first of them in this process is named after what it is about. If the API server has an
// event of this name, an earlier controller emitted it. A later one in this process is another
// occurrence, and has a name of its own.
type onceNames struct {
	mu    sync.Mutex
	names map[string]struct{}
}

// mostNames bounds how many names are kept.
const mostNames = 100_000

// name is empty for an event that needs a name of its own.
func (o *onceNames) name(about types.UID, reason, once string) string {
	sum := sha256.Sum256([]byte(string(about) + "\x00" + reason + "\x00" + once))
	name := hex.EncodeToString(sum[:8])
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.names[name]; known {
		return ""
	}
	if o.names == nil || len(o.names) >= mostNames {
		o.names = map[string]struct{}{}
	}
	o.names[name] = struct{}{}
	return name
}
