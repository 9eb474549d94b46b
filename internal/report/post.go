package report

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// tryTimeout is how long one try may take, from the DNS lookup to the response.
const tryTimeout = 10 * time.Second

// poster sends to one address. Its errors describe what a user can do, and never contain more of an
// address than scheme and host, because the rest may be a token. So they are written here. Errors
// of net/http contain the whole address or the response of a server, and are not passed on.
type poster struct {
	client  *http.Client
	to      *url.URL
	timeout time.Duration
	// setting is the flag that set the address.
	setting string
}

func newPoster(to, proxy *url.URL) *poster {
	// Alerts are rare, so no connection is kept open.
	transport := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}
	if proxy != nil {
		transport.Proxy = http.ProxyURL(proxy)
		transport.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
			if answer.StatusCode != http.StatusOK {
				return failure("the proxy answered " + status(answer.StatusCode) + ", see ALERT_WEBHOOK_PROXY")
			}
			return nil
		}
	}
	return &poster{
		client: &http.Client{
			Transport: transport,
			// Some redirects would turn the POST into a GET, and all of them would send the text to
			// an address that no user has configured.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		to: to, timeout: tryTimeout, setting: "ALERT_WEBHOOK_URL",
	}
}

// failure is a reason in our own words.
type failure string

// Error implements error.
func (f failure) Error() string { return string(f) }

// receiver is the part of the address that is not secret.
func (p *poster) receiver() string { return origin(p.to) }

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// send tries once.
func (p *poster) send(ctx context.Context, message payload) error {
	return p.request(ctx, http.MethodPost, p.to, message, p.checkStatus)
}

// request sends one request, and hands the response over. The time for both is bounded.
func (p *poster) request(ctx context.Context, method string, to *url.URL, message payload, take func(*http.Response) error) error {
	trying, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(trying, method, to.String(), bytes.NewReader(message.body))
	if err != nil {
		return failure(p.setting + " cannot be sent to")
	}
	if message.contentType != "" {
		request.Header.Set("Content-Type", message.contentType)
	}
	answer, err := p.client.Do(request)
	if err == nil {
		defer answer.Body.Close()
		if err := take(answer); trying.Err() == nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return failure("the controller stopped before a response arrived")
	case trying.Err() != nil:
		return failure(fmt.Sprintf("no response within %s", p.timeout))
	default:
		return explain(err)
	}
}

// checkStatus returns nil for a status 2xx, and otherwise what is wrong.
func (p *poster) checkStatus(answer *http.Response) error {
	code := answer.StatusCode
	if code >= 200 && code < 300 {
		return nil
	}
	if location, err := answer.Location(); err == nil && code >= 300 && code < 400 {
		return failure(fmt.Sprintf("it answered %s, a redirect to %s that Reroll does not follow: set %s to the final URL", status(code), origin(location), p.setting))
	}
	answered := failure("it answered " + status(code))
	if refuses(code) {
		return refusal{answered}
	}
	return answered
}

// refusal is a response that may be about the message itself.
type refusal struct{ failure }

// refuses reports whether a response may be about the message itself: too large, or with invalid or
// unwanted content. The other 4xx codes are about the sender, the address, the method, or the rate.
func refuses(code int) bool {
	switch code {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusProxyAuthRequired,
		http.StatusRequestTimeout, http.StatusMisdirectedRequest, http.StatusTooEarly, http.StatusUpgradeRequired, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// status has the standard text for a code, because the text from the server may contain anything.
func status(code int) string { return fmt.Sprintf("%d %s", code, http.StatusText(code)) }

// explain returns why there was no response. Errors of the network and of certificates are passed
// on, because they contain only the host. Errors of HTTP may quote the response of a server, which
// may repeat the request.
func explain(err error) error {
	if own, ok := errors.AsType[failure](err); ok {
		return own
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		if op.Op == "proxyconnect" {
			return failure("the proxy in ALERT_WEBHOOK_PROXY: " + explain(op.Err).Error())
		}
		return failure(op.Error())
	}
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return failure(certificate.Error())
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return failure("the connection was closed without a response")
	}
	return failure("the response is not HTTP: check the URL, and http:// or https://")
}
