package cli

import (
	"context"
	"html"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
)

// self is the user of the kubeconfig. They may read all that the process can.
type self struct{}

// Name returns the name of the user of the machine.
func (self) Name() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "you"
}

// MayRead returns true.
func (self) MayRead(context.Context, string, string) bool { return true }

// openBrowser opens an address with a token. Other users of the machine see the arguments of each
// program, so the argument is a file that only this user can read, and that leads to the address. If
// the browser does not open, the user opens the printed address. The returned function removes the
// file.
func openBrowser(ctx context.Context, address string) (remove func()) {
	folder, err := os.MkdirTemp("", "reroll-ui-")
	if err != nil {
		return func() {}
	}
	remove = func() { _ = os.RemoveAll(folder) }
	file := filepath.Join(folder, "open.html")
	page := "<!doctype html>\n<title>Reroll</title>\n<meta http-equiv=\"refresh\" content=\"0; url=" + html.EscapeString(address) + "\">\n"
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		return remove
	}
	name, args := "xdg-open", []string{file}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", file}
	}
	cmd := exec.CommandContext(ctx, name, args...)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
	return remove
}
