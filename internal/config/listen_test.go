package config

import "testing"

func TestAddressesOfEndpointsAreValidated(t *testing.T) {
	const remedy = ": write HOST:PORT, or :PORT for all interfaces, such as 127.0.0.1:9090"
	for about, tc := range map[string]struct {
		args []string
		want string
	}{
		"all interfaces":            {[]string{"--listen-address=:9090"}, ""},
		"a free port":               {[]string{"--listen-address=127.0.0.1:0"}, ""},
		"IPv6":                      {[]string{"--listen-address=[::1]:9090"}, ""},
		"the name of a port":        {[]string{"--listen-address=:http"}, ""},
		"no port":                   {[]string{"--listen-address=localhost"}, "--listen-address=localhost" + remedy},
		"only a port":               {[]string{"--listen-address=9090"}, "--listen-address=9090" + remedy},
		"a port above all":          {[]string{"--listen-address=:65536"}, "--listen-address=:65536" + remedy},
		"a negative port":           {[]string{"--listen-address=:-1"}, "--listen-address=:-1" + remedy},
		"profiles":                  {[]string{"--enable-pprof", "--pprof-addr=6060"}, "--pprof-addr=6060" + remedy},
		"profiles, without serving": {[]string{"--pprof-addr=6060"}, ""},
		"both": {
			[]string{"--listen-address=x", "--enable-pprof", "--pprof-addr=y"},
			"--listen-address=x" + remedy + "\n--pprof-addr=y" + remedy,
		},
	} {
		t.Run(about, func(t *testing.T) {
			c, _ := parsed(t, tc.args...)
			got := ""
			if err := c.Validate(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
