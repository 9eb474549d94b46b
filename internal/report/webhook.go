package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/notice"
)

// Webhook notifies a receiver of changes, if the receiver reloads the workloads.
type Webhook struct {
	poster  *poster
	log     *slog.Logger
	events  *Events
	metrics *Metrics

	// failing reports whether the latest message was not accepted. Messages are sent one after the
	// other.
	failing bool
}

// NewWebhook returns a Webhook for an address, which may contain a token.
func NewWebhook(to *url.URL, log *slog.Logger, events *Events, metrics *Metrics) *Webhook {
	p := newPoster(to, nil)
	p.setting = "--webhook-url"
	return &Webhook{poster: p, log: log, events: events, metrics: metrics}
}

// Receiver is the part of the address that is not secret.
func (h *Webhook) Receiver() string { return h.poster.receiver() }

// webhookMessage begins with the fields that Reloader sends.
type webhookMessage struct {
	Webhook   string            `json:"webhook"`
	Workloads []webhookWorkload `json:"workloads"`
}

type webhookWorkload struct {
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Changes   []webhookChange `json:"changes"`
}

type webhookChange struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Deleted bool   `json:"deleted,omitempty"`
}

// Send returns nil if the receiver has accepted the message.
func (h *Webhook) Send(ctx context.Context, notifications []controller.Notification) error {
	message := webhookMessage{Webhook: "update successful"}
	for i := range notifications {
		w := webhookWorkload{Kind: notifications[i].Workload.Key.Kind, Namespace: notifications[i].Workload.Key.Namespace, Name: notifications[i].Workload.Key.Name}
		for _, change := range notifications[i].Decision.Changes {
			w.Changes = append(w.Changes, webhookChange{change.Source.Key.Kind.Type(), change.Source.Key.Name, change.Deleted})
		}
		message.Workloads = append(message.Workloads, w)
	}
	body, err := json.Marshal(message)
	if err == nil {
		err = h.poster.send(ctx, payload{contentType: "application/json", body: body})
	}
	if err != nil {
		h.failed(err)
		if _, ok := errors.AsType[refusal](err); ok {
			return fmt.Errorf("%w: %w", controller.ErrRefused, err)
		}
		return err
	}
	if h.failing {
		h.failing = false
		h.log.Info("the webhook receiver accepts messages again", "receiver", h.Receiver())
	}
	h.metrics.webhook("sent")
	for i := range notifications {
		w, d := &notifications[i].Workload, notifications[i].Decision
		last := d.Changes[len(d.Changes)-1].Source.Key
		text := fmt.Sprintf("Changes detected in '%s' of type '%s' in namespace '%s'", sources(d), last.Kind.Type(), namespaceOf(last))
		h.log.Info(fmt.Sprintf("%s; notified the webhook receiver of '%s' of type '%s' in namespace '%s'", text, w.Key.Name, w.Key.Kind, w.Key.Namespace))
		h.events.publish(notice.Workload(w), normal, "WebhookSent", fmt.Sprintf("%s. Notified the webhook receiver (--webhook-url); Reroll does not reload this %s", text, w.Key.Kind))
	}
	return nil
}

// failed warns once until a message is accepted again.
func (h *Webhook) failed(err error) {
	h.metrics.webhook("failed")
	if !h.failing {
		h.log.Warn("the webhook receiver did not accept a message; retrying (further failures are not logged until it accepts one)",
			"receiver", h.Receiver(), "error", err.Error(), "metric", "reloader_webhooks_total")
	}
	h.failing = true
}
