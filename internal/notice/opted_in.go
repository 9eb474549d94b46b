package notice

import (
	"fmt"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// OptedIn names the sources that roll a workload which was opted in. Concerns that are Deleted do
// not exist yet.
func OptedIn(w *workload.Workload, concerns []reload.Concern) Notice {
	return normal(w, Watching, optedInText(w, concerns))
}

func optedInText(w *workload.Workload, concerns []reload.Concern) string {
	if len(concerns) == 0 {
		return fmt.Sprintf("Nothing rolls this %s yet: its annotations select no ConfigMap or Secret that it references or that exists", w.Key.Kind)
	}
	var names []string
	for _, c := range concerns {
		later := ""
		switch {
		case c.Deleted && c.Source.Key.Kind.Reported():
			later = ", once a Pod has mounted it"
		case c.Deleted:
			later = ", once it is created"
		}
		names = append(names, fmt.Sprintf("%s '%s' (%s%s)", c.Source.Key.Kind, c.Source.Key.Name, ruleWord(c), later))
	}
	// Names are added up to the maximum length of the text.
	text := ""
	for most := min(len(names), MaxText/len("Secret 'x' (auto), ")); most > 0; most-- {
		text = fmt.Sprintf("A change of %s rolls this %s", listed(names, most), w.Key.Kind)
		if len(text) <= MaxText {
			break
		}
	}
	return text
}

// ruleWord describes the rule by which a source concerns a workload.
func ruleWord(c reload.Concern) string {
	switch v := c.Verdict; {
	case v.Rule.WithoutReference() && v.Entry != c.Source.Key.Name:
		return fmt.Sprintf("%s by '%s'", v.Rule, short(v.Entry))
	case v.Rule == policy.RuleTypedAuto:
		plural := "s"
		if c.Source.Key.Kind == source.SecretProviderClass {
			plural = "es"
		}
		return fmt.Sprintf("auto for %s%s", c.Source.Key.Kind, plural)
	default:
		return v.Rule.String()
	}
}

// LeftTo is about a workload that was opted in although Reroll rolls its owner instead, which is
// not opted in.
func LeftTo(w *workload.Workload, owner workload.Key) Notice {
	return warning(w, LeftToOwner, fmt.Sprintf("Nothing rolls this %s: its owner, %s %s, would be rolled instead, but is not opted in. Set the annotations on the owner",
		w.Key.Kind, owner.Kind, owner.Name))
}

// BesideInstallation is about a workload that another installation of Reroll rolls, too.
func BesideInstallation(w *workload.Workload) Notice {
	return warning(w, OtherController, fmt.Sprintf("Another installation of Reroll also writes the ledger of this %s, so both roll it. Let one installation watch this namespace, see %s",
		w.Key.Kind, buildinfo.Doc("how-to/high-availability.md#two-installations")))
}

// TwoControllers returns the text about a workload that Reloader rolls, too.
func TwoControllers() string {
	return "Reloader also writes marks on this workload, and Reroll keeps them. Run only one of the two controllers, see " + buildinfo.Doc("how-to/gitops.md#two-controllers")
}

// BesideReloader is about a workload that Reloader rolls, too.
func BesideReloader(w *workload.Workload) Notice {
	return warning(w, OtherController, TwoControllers())
}
