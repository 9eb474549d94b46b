//go:build !linux

package cluster

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

var errNotLinux = errors.New("the throwaway cluster needs Linux, and this is " + runtime.GOOS +
	": it relies on child processes that the kernel ends with their parent. " +
	"Run it in a Linux virtual machine or container, or use a cluster you have: make demo CONTEXT=name")

// Supported says why a throwaway cluster cannot run on this system, if so.
func Supported() error { return errNotLinux }

func dieWithParent() *syscall.SysProcAttr { return nil }

func withOwnNetwork() *syscall.SysProcAttr { return nil }

func asNode() *syscall.SysProcAttr { return nil }

func detached() *syscall.SysProcAttr { return nil }

func tryLock(*os.File) (bool, error) { return false, errNotLinux }

func waitLock(*os.File) error { return errNotLinux }

func freeDisk(string) (uint64, error) { return 0, errNotLinux }

func releaseTerminal() error { return errNotLinux }

func inheritedPipe() *os.File { return nil }
