package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func lender(t *testing.T) *Lender {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := Lend(t.Context(), socket, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(SocketVariable, socket)
	return l
}

func borrowForTest(t *testing.T) *Cluster {
	t.Helper()
	c, err := Borrow(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestALentClusterIsStartedOnceAndEndsWithItsLender(t *testing.T) {
	l := lender(t)
	first, second := borrowForTest(t), borrowForTest(t)
	if first.Dir() != second.Dir() {
		t.Errorf("two clusters were lent: %s and %s", first.Dir(), second.Dir())
	}
	if err := first.Stop(); err != nil {
		t.Error(err)
	}
	t.Run("a service account has the permissions that RBAC gives it, and no other", func(t *testing.T) {
		testServiceAccountHasThePermissionsThatRBACGivesItAndNoOther(t, second)
	})
	t.Run("a Pod is not deleted for the one before it, of the same name", func(t *testing.T) {
		testAPodIsNotDeletedForTheOneBeforeIt(t, second)
	})
	if _, err := second.run("other", "/bin/true"); err == nil || !strings.Contains(err.Error(), "start one of your own") {
		t.Errorf("another component on a cluster that others use: %v", err)
	}
	used, err := l.Close()
	if err != nil || used["kube-apiserver"] <= 0 {
		t.Errorf("the end: %v, processor time %v", err, used)
	}
	if _, err := os.Stat(first.Dir()); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
	if _, err := Borrow(t.Context(), Options{}); err == nil || !strings.HasPrefix(err.Error(), "borrow a cluster: ") {
		t.Errorf("borrowed after the end: %v", err)
	}
}

func TestALenderThatNobodyAsksStartsNothing(t *testing.T) {
	l := lender(t)
	if used, err := l.Close(); len(used) != 0 || err != nil {
		t.Errorf("%v %v", used, err)
	}
}
