package browser

import (
	"context"
	"errors"

	"github.com/reroll-dev/reroll/test/harness"
)

// Everyday is what the pictures of the documentation show: two teams, with one workload or two in
// each state.
func Everyday(ctx context.Context, s *Scene) error {
	shop := Source("greeting", "ConfigMap") + Source("limits", "ConfigMap") + Source("routes", "ConfigMap", "reroll.dev/soak", "30m") + Source("payment-keys", "Secret") +
		Deployment("web", "ConfigMap", "greeting", 3) +
		Deployment("search", "ConfigMap", "greeting", 2) +
		Deployment("api", "Secret", "payment-keys", 4) +
		Deployment("checkout", "ConfigMap", "limits", 2, "reroll.dev/approval", "required") +
		Deployment("invoices", "ConfigMap", "limits", 2, "reroll.dev/window", "allow 22:00-05:00 mon-fri UTC") +
		Deployment("edge-canary", "ConfigMap", "routes", 1) +
		Deployment("edge-east", "ConfigMap", "routes", 3, "reroll.dev/wave", "1") +
		Deployment("edge-west", "ConfigMap", "routes", 3, "reroll.dev/wave", "1") +
		Deployment("reports", "ConfigMap", "report-settings", 1)
	bank := Source("vault", "Secret") + Source("rates", "ConfigMap") +
		Deployment("accounts", "Secret", "vault", 3) + Deployment("transfers", "ConfigMap", "rates", 2)
	if err := errors.Join(s.Shop.Apply(ctx, shop), s.Bank.Apply(ctx, bank)); err != nil {
		return err
	}
	if err := errors.Join(
		Adopted(ctx, s.Shop, "web", "search", "api", "checkout", "invoices", "edge-canary", "edge-east", "edge-west"),
		Adopted(ctx, s.Bank, "accounts", "transfers"),
	); err != nil {
		return err
	}
	for _, name := range []string{"greeting", "limits", "routes"} {
		if err := s.Edit(ctx, name, "after-the-edit", "kubectl-edit"); err != nil {
			return err
		}
	}
	if err := s.Bank.Edit(ctx, harness.Ref{Kind: "configmap", Name: "rates"}, "key=after-the-edit"); err != nil {
		return err
	}
	web, canary, transfers := harness.Ref{Kind: "deployment", Name: "web"}, harness.Ref{Kind: "deployment", Name: "edge-canary"}, harness.Ref{Kind: "deployment", Name: "transfers"}
	return errors.Join(
		s.Shop.AwaitRolls(ctx, web, 1), s.Shop.AwaitRolls(ctx, canary, 1), s.Bank.AwaitRolls(ctx, transfers, 1),
		s.Freeze(ctx, s.Bank.Name, "jane", "end of the quarter"),
	)
}
