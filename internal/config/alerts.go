package config

import (
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Alerts configures the receiver of alerts outside of the cluster. Like in Reloader, it comes only
// from the environment.
type Alerts struct {
	// On reports whether alerts are enabled and their receiver is known.
	On bool
	// Sink is the form of a message: slack, teams, gchat or raw.
	Sink string
	// URL and Proxy may contain tokens, so they are never shown completely. A nil Proxy means no
	// proxy.
	URL, Proxy *url.URL
	// Info is a prefix of every message.
	Info string

	warnings []string
}

const rawSink = "raw"

// readEnvironment keeps valid values and warns about the others. Invalid values do not prevent the
// start: Reloader also starts with them, and reloads are more important than alerts.
func (a *Alerts) readEnvironment(getenv func(string) string) {
	on := getenv("ALERT_ON_RELOAD")
	if on != "true" {
		if no, err := strconv.ParseBool(on); on != "" && (err != nil || no) {
			a.warn("no alerts are sent: set ALERT_ON_RELOAD=true to send them")
		}
		return
	}
	a.Info = strings.TrimSpace(getenv("ALERT_ADDITIONAL_INFO"))
	a.Sink = parseSink(getenv("ALERT_SINK"))
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
			// A user who sets a proxy does not want messages to bypass it.
			a.warn("no alerts are sent: ALERT_WEBHOOK_PROXY is not a URL such as http://host:3128")
			return
		}
	}
	a.On = true
}

// parseSink returns the sink that ALERT_SINK names, empty if the name is unknown.
func parseSink(name string) string {
	switch name = strings.ToLower(strings.TrimSpace(name)); name {
	case "slack", "teams", "gchat":
		return name
	case "", "webhook", rawSink: // the name in the documentation of Reloader
		return rawSink
	default:
		return ""
	}
}

// address drops the error of the parser, because that contains the invalid text.
func address(text string, schemes ...string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || !slices.Contains(schemes, u.Scheme) {
		return nil, false
	}
	return u, true
}

// warn takes no value for the text, because the wrong variable may contain an address with a token.
func (a *Alerts) warn(text string) { a.warnings = append(a.warnings, text) }

// Warn logs the mistakes in the environment.
func (a *Alerts) Warn(log *slog.Logger) {
	for _, text := range a.warnings {
		log.Warn(text)
	}
}
