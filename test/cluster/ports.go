package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Ports are drawn from below the range that Linux gives to outgoing connections (32768 and up): a
// port that is free now cannot become somebody's source port between being chosen and being
// listened on.
const (
	firstPort = 20000
	lastPort  = 32000
)

// portSet holds the ports of one cluster. Each is held by a lock on a file, so that clusters
// started at the same moment by different processes do not choose the same one before either
// listens on it.
type portSet struct{ locks []*os.File }

func newPortSet() *portSet { return &portSet{} }

// take reserves the wanted port, or any free one for 0.
func (s *portSet) take(wanted int) (int, error) {
	if wanted < 0 || wanted > 65535 {
		return 0, fmt.Errorf("%d is no port: choose one from 1 to 65535, or leave it out and a free one is found", wanted)
	}
	if wanted != 0 {
		if ok, err := s.try(wanted); !ok {
			return 0, fmt.Errorf("port %d on 127.0.0.1 is taken (%w): choose another one, or leave it out and a free one is found",
				wanted, err)
		}
		return wanted, nil
	}
	var last error
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort) //nolint:gosec // which free port it is does not matter
		ok, err := s.try(port)
		if ok {
			return port, nil
		}
		last = err
	}
	return 0, fmt.Errorf("no free port on 127.0.0.1 between %d and %d in 200 tries; the last answer: %w", firstPort, lastPort, last)
}

func (s *portSet) try(port int) (bool, error) {
	dir := filepath.Join(os.TempDir(), "reroll-cluster-ports-"+strconv.Itoa(os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, err
	}
	if held, err := tryLock(lock); err != nil || !held {
		_ = lock.Close()
		return false, cmp.Or(err, errors.New("another cluster of this kind uses it"))
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		_ = lock.Close()
		return false, err
	}
	_ = listener.Close()
	s.locks = append(s.locks, lock)
	return true, nil
}

// release gives the ports back. The files stay: removing one that another process has just locked
// would let a third process lock a new file of the same name.
func (s *portSet) release() {
	for _, lock := range s.locks {
		_ = lock.Close()
	}
	s.locks = nil
}
