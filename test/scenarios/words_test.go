package scenarios

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reroll-dev/reroll/test/harness"
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

func TestARaceOrPanicIsNeverSound(t *testing.T) {
	t.Parallel()
	for text, right := range map[string]bool{
		`{"msg":"stopped"}`:                         true,
		`{"msg":"panic: is a word in a message"}`:   true,
		"WARNING: DATA RACE":                        false,
		"panic: runtime error: index out of range":  false,
		"fatal error: concurrent map writes":        false,
		"{\"msg\":\"serving\"}\nWARNING: DATA RACE": false,
	} {
		c := &harness.Controller{Log: &harness.Log{}}
		if _, err := c.Log.Write([]byte(text + "\n")); err != nil {
			t.Fatal(err)
		}
		if err := sound(c); (err == nil) != right {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestEveryWordHasItsForm(t *testing.T) {
	t.Parallel()
	for name := range commands() {
		if form := usage(name); !strings.Contains(form, name) {
			t.Errorf("the usage of %s is %q", name, form)
		}
	}
}
