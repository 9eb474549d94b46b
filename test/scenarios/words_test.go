package scenarios

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestWordsThatNeedNoController(t *testing.T) {
	t.Parallel()
	p := params(shared, patience, testscript.Params{Files: []string{"testdata/words.txtar"}})
	p.Cmds["send"] = func(ts *testscript.TestScript, _ bool, args []string) {
		resp, err := http.Post(ts.Getenv("RECEIVER_URL"), "text/plain", strings.NewReader(args[0]))
		ts.Check(err)
		ts.Check(resp.Body.Close())
	}
	testscript.Run(t, p)
}

func TestEveryWordHasItsForm(t *testing.T) {
	t.Parallel()
	for name := range commands() {
		if form := usage(name); !strings.Contains(form, name) {
			t.Errorf("the usage of %s is %q", name, form)
		}
	}
}
