package config

import (
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Alerts configures the receiver of alerts outside of the cluster. It comes from the environment alone, as with
// Reloader.
type Alerts struct {
	// On reports that alerts are enabled, and that their receiver is known.
	On bool
	// Sink is the form of a message: slack, teams, gchat or raw.
	Sink string
	// URL and Proxy may hold tokens, so they are never shown whole. Proxy is nil if there is none.
	URL, Proxy *url.URL
	// Info is put before every message.
	Info string

	warnings []string
}

const rawSink = "raw"

// readEnvironment keeps what is valid and warns about the rest. No mistake in it prevents the start: Reloader started
// with all of them, and reloads matter more than alerts about them.
func (a *Alerts) readEnvironment(getenv func(string) string) {
	on := getenv("ALERT_ON_RELOAD")
	if on != "true" {
		if no, err := strconv.ParseBool(on); on != "" && (err != nil || no) {
			a.warn("no alerts are sent: set ALERT_ON_RELOAD=true to send them")
		}
		return
	}
	a.Info = strings.TrimSpace(getenv("ALERT_ADDITIONAL_INFO"))
	a.Sink = sinkNamed(getenv("ALERT_SINK"))
	if a.Sink == "" {
		a.Sink = rawSink
		a.warn("ALERT_SINK is unknown, so alerts are sent as raw text: set slack, teams, gchat or raw")
	}

	to := strings.TrimSpace(getenv("ALERT_WEBHOOK_URL"))
	if to == "" {
		a.warn("no alerts are sent: ALERT_ON_RELOAD is true, but ALERT_WEBHOOK_URL is not set")
		return
	}
	var ok bool
	if a.URL, ok = address(to, "http", "https"); !ok {
		a.warn("no alerts are sent: ALERT_WEBHOOK_URL is not a URL such as https://host/path")
		return
	}
	if proxy := strings.TrimSpace(getenv("ALERT_WEBHOOK_PROXY")); proxy != "" {
		if a.Proxy, ok = address(proxy, "http", "https", "socks5", "socks5h"); !ok {
			// Who wants a proxy does not want to see it passed by.
			a.warn("no alerts are sent: ALERT_WEBHOOK_PROXY is not a URL such as http://host:3128")
			return
		}
	}
	a.On = true
}

// sinkNamed returns the sink that is meant, or nothing if it is not known.
func sinkNamed(name string) string {
	switch name = strings.ToLower(strings.TrimSpace(name)); name {
	case "slack", "teams", "gchat":
		return name
	case "", "webhook", rawSink: // webhook is how Reloader's documentation names it
		return rawSink
	default:
		return ""
	}
}

// address does not return the error of the parser, which holds all that it could not read.
func address(text string, schemes ...string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || !slices.Contains(schemes, u.Scheme) {
		return nil, false
	}
	return u, true
}

// warn takes no value to put into the text: an address may have got into the wrong variable.
func (a *Alerts) warn(text string) { a.warnings = append(a.warnings, text) }

// Warn logs what was wrong in the environment.
func (a *Alerts) Warn(log *slog.Logger) {
	for _, text := range a.warnings {
		log.Warn(text)
	}
}
