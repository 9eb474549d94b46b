package reload

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func TestStrategies(t *testing.T) {
	for name, tc := range map[string]struct {
		strategy StrategyChoice
		custom   bool
		before   ledger.Step
		want     ledger.Step
	}{
		"auto":                                    {StrategyAuto, false, ledger.StepVariables, ledger.StepVariables},
		"auto, a custom kind":                     {StrategyAuto, true, ledger.StepVariables, ledger.StepAnnotationFirst},
		"env-vars":                                {StrategyEnvVars, false, ledger.StepVariables, ledger.StepVariables},
		"env-vars, a custom kind":                 {StrategyEnvVars, true, ledger.StepVariables, ledger.StepVariables},
		"annotations":                             {StrategyAnnotations, false, ledger.StepVariables, ledger.StepAnnotationFirst},
		"back from annotations":                   {StrategyEnvVars, false, ledger.StepAnnotationFirst, ledger.StepVariables},
		"variables were taken away before":        {StrategyEnvVars, false, ledger.StepAnnotation, ledger.StepAnnotation},
		"they were, and it is annotations now":    {StrategyAnnotations, false, ledger.StepAnnotation, ledger.StepAnnotation},
		"they were, and it is a custom kind":      {StrategyAuto, true, ledger.StepAnnotation, ledger.StepAnnotation},
		"a custom kind, env-vars from now on":     {StrategyEnvVars, true, ledger.StepAnnotationFirst, ledger.StepVariables},
		"annotations after an annotation of it":   {StrategyAnnotations, false, ledger.StepAnnotationFirst, ledger.StepAnnotationFirst},
		"a restart, and it is not to be any more": {StrategyAuto, true, ledger.StepRestart, ledger.StepAnnotation},
		"a restart of its own, not any more":      {StrategyAuto, true, ledger.StepRestartFirst, ledger.StepAnnotationFirst},
	} {
		t.Run(name, func(t *testing.T) {
			s := web().ledger(func(l *ledger.Ledger) { l.Step = tc.before }).cmSeen("two", 130).with(func(f *Facts) {
				f.Strategy, f.Workload.Custom = tc.strategy, tc.custom
			})
			d := decided(t, s.f)
			if d.Action != Reload || d.Ledger.Step != tc.want {
				t.Fatalf("decided to %s at step %d, want step %d", d.Action, d.Ledger.Step, tc.want)
			}
			m := d.Mark(&s.f.Workload, WorkloadSeen{Whole: true}, digest.SecretMarksKeyed, at(200))
			if byVariable := tc.want == ledger.StepVariables; byVariable != (len(m.Env) == 1) || byVariable != (m.ReloadedFrom == "") || m.Rolled != "" {
				t.Errorf("marked by %+v", m)
			}
		})
	}
}

func TestAnotherStrategyRollsNothing(t *testing.T) {
	for _, strategy := range []StrategyChoice{StrategyAuto, StrategyEnvVars, StrategyAnnotations} {
		for step := ledger.StepVariables; step <= ledger.StepRestartFirst; step++ {
			for _, secrets := range []digest.SecretMarks{digest.SecretMarksKeyed, digest.SecretMarksSHA1} {
				for _, custom := range []bool{false, true} {
					s := web().mark("x").ledger(nil).cm("one", 60).with(func(f *Facts) {
						f.Strategy, f.SecretMarks, f.Workload.Custom = strategy, secrets, custom
					})
					s.ledgerOf(func(l *ledger.Ledger) { l.Step, l.Marks = step, s.f.Workload.Marks.DigestAfter(step) })
					if d := decided(t, s.f); d.Action != Nothing {
						t.Errorf("strategy %d, step %d, Secrets by %d, custom %t: decided to %s: %s", strategy, step, secrets, custom, d.Action, d.Why)
					}
				}
			}
		}
	}
}

func TestTheLadderGoesOnFromTheStrategy(t *testing.T) {
	annotations := func(f *Facts) { f.Strategy = StrategyAnnotations }
	restarting := func(f *Facts) { f.OnRevert, f.Workload.Restartable = OnRevertRestart, true }
	for name, tc := range map[string]struct {
		when  *situation
		final bool
		step  ledger.Step
	}{
		"a variable was taken away":                       {webReverted(ledger.StepVariables), false, ledger.StepAnnotation},
		"then the annotation":                             {webReverted(ledger.StepAnnotation), true, 0},
		"the annotation of the strategy":                  {webReverted(ledger.StepAnnotationFirst).with(annotations), true, 0},
		"a variable, from before it was annotations":      {webReverted(ledger.StepVariables).with(annotations), false, ledger.StepAnnotation},
		"an annotation, from before it was variables":     {webReverted(ledger.StepAnnotationFirst), true, 0},
		"the annotation of a custom kind":                 {webReverted(ledger.StepAnnotationFirst).with(func(f *Facts) { f.Workload.Custom = true }), true, 0},
		"a variable of a custom kind that is to have one": {webReverted(ledger.StepVariables).with(func(f *Facts) { f.Workload.Custom, f.Strategy = true, StrategyEnvVars }), false, ledger.StepAnnotation},
		"a variable, with a restart to come":              {webReverted(ledger.StepVariables).with(restarting), false, ledger.StepAnnotation},
		"the annotation, with a restart to come":          {webReverted(ledger.StepAnnotation).with(restarting), false, ledger.StepRestart},
		"the annotation, of a kind without restarts":      {webReverted(ledger.StepAnnotation).with(restarting).with(func(f *Facts) { f.Workload.Restartable = false }), true, 0},
		"the restart":          {webReverted(ledger.StepRestart).with(restarting), true, 0},
		"a restart of its own": {webReverted(ledger.StepRestartFirst).with(restarting).with(func(f *Facts) { f.Workload.Policy = restarted() }), true, 0},
		"a variable, where the annotation will not stay": {webReverted(ledger.StepVariables).with(func(f *Facts) { f.Workload.Declared.NoAnnotations = true }), true, 0},
		"the same, with a restart to come":               {webReverted(ledger.StepVariables).with(restarting).with(func(f *Facts) { f.Workload.Declared.NoAnnotations = true }), false, ledger.StepRestart},
		"an operator took it":                            {webReverted(ledger.StepVariables).with(func(f *Facts) { f.Workload.Owner = `Shop "a"` }), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := decided(t, tc.when.pods(2, 60).f)
			if d.Reverted == nil || d.Reverted.Final != tc.final {
				t.Fatalf("got %+v", d)
			}
			if !tc.final && (d.Action != Reload || d.Ledger.Step != tc.step) {
				t.Errorf("decided to %s at step %d, want step %d", d.Action, d.Ledger.Step, tc.step)
			}
		})
	}
}

func TestReloadersMarkIsLookedForWhereItsStrategyPutsIt(t *testing.T) {
	var one source.Source
	copy(one.Reloader[:], "sha1 of one")
	hash := workload.MarkHash(one, digest.SecretMarksSHA1)
	annotation := func(name, namespace, hash string) func(*Facts) {
		return func(f *Facts) {
			f.Strategy = StrategyAnnotations
			f.Workload.Marks.ReloadedFrom = workload.ReloadedFrom{Source: source.Key{Kind: source.ConfigMap, Namespace: namespace, Name: name}, Hash: hash, Containers: []string{"app"}}.JSON()
		}
	}
	// The ConfigMap was changed at second 40, before the installation: only a mark can show that a
	// change was missed.
	changed := func() *situation { return web().cm("two", 40).pods(1, 39) }
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"the annotation does not fit":                {changed().with(annotation("cm", "shop", hash)), Reload},
		"it does not fit, the pods are younger":      {web().cm("two", 40).pods(1, 46).with(annotation("cm", "shop", hash)), Record},
		"it fits":                                    {web().cm("one", 40).pods(1, 39).with(annotation("cm", "shop", hash)), Record},
		"it is about another source":                 {changed().with(annotation("other", "shop", hash)), Record},
		"it is about another namespace":              {changed().with(annotation("cm", "elsewhere", hash)), Record},
		"it tells of a deletion":                     {changed().with(annotation("cm", "shop", workload.DeleteMarker)), Record},
		"it cannot be read":                          {changed().with(annotation("cm", "shop", hash)).with(func(f *Facts) { f.Workload.Marks.ReloadedFrom = "{" }), Record},
		"it stands there, but variables are written": {changed().with(annotation("cm", "shop", hash)).with(func(f *Facts) { f.Strategy = StrategyEnvVars }), Record},
		"a variable, and variables are written":      {changed().mark(hash), Reload},
		"a variable, on a custom kind: Reloader wrote it there too": {
			changed().mark(hash).with(func(f *Facts) { f.Workload.Custom = true }), Reload},
		"a variable, and annotations are written": {changed().mark(hash).with(func(f *Facts) { f.Strategy = StrategyAnnotations }), Record},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != tc.want {
				t.Errorf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
		})
	}
}

// A reload by an annotation leaves the variable of an earlier reload as it was, and the other way
// around.
func TestOfTwoMarksTheLaterOneCounts(t *testing.T) {
	hashOf := func(content string) string {
		var s source.Source
		copy(s.Reloader[:], "sha1 of "+content)
		return workload.MarkHash(s, digest.SecretMarksSHA1)
	}
	marked := func(variable, annotation string, observed int64) *situation {
		return web().cm("two", 40).pods(1, 39).mark(variable).with(func(f *Facts) {
			f.Workload.Marks.ReloadedFrom = workload.ReloadedFrom{Source: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "cm"}, Hash: annotation, ObservedAt: observed}.JSON()
		})
	}
	byReloader := func(f *Facts) {
		f.Workload.Marks.Writers = map[string]string{"STAKATER_CM_CONFIGMAP": workload.ReloaderManager}
		f.Workload.Marks.ByReloader = at(1000)
	}
	alsoAnnotated := func(f *Facts) {
		f.Workload.Marks.Writers[annotations.DefaultNames().LastReloadedFrom] = workload.ReloaderManager
	}
	byAnnotations := func(f *Facts) { f.Strategy = StrategyAnnotations }
	edited := func(f *Facts) { // provably, so that it is reloaded unless a mark shows that the pods have it
		f.Installed, f.Concerns[0].Source.EditedAt = at(1), 40
	}
	since := func(policy, template, since uint64) func(*Facts) { // the edit is seen, too
		return func(f *Facts) {
			f.Seen.Policy, f.Seen.Template, f.Seen.Since = policy, template, since
			f.Concerns[0].Seen = SourceSeen{Content: 40, Edited: true, Annotations: 1, Version: 40}
		}
	}
	one, two := hashOf("one"), hashOf("two")
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"they agree, and fit":                    {marked(two, two, 0).with(edited), Record},
		"they fit data that came back":           {marked(two, two, 0).with(since(0, 30, 20)), Reload},
		"it came back before it was opted in":    {marked(two, two, 0).with(since(50, 30, 20)), Record},
		"the workload was seen later":            {marked(two, two, 0).with(since(0, 0, 41)), Record},
		"they agree, and do not fit":             {marked(one, one, 0), Reload},
		"the variable fits":                      {marked(two, one, 0).with(edited), Reload},
		"the variable does not fit":              {marked(one, two, 0), Record},
		"the annotation fits":                    {marked(one, two, 0).with(byAnnotations).with(edited), Reload},
		"the annotation does not fit":            {marked(two, one, 0).with(byAnnotations), Record},
		"the annotation is later, and fits":      {marked(one, two, 2000).with(byReloader).with(edited), Record},
		"the annotation is later, and fits not":  {marked(two, one, 2000).with(byReloader), Reload},
		"it is later by less than clocks differ": {marked(two, one, 1500).with(byReloader), Record},
		"the variable may be as late":            {marked(two, one, 2000).with(byReloader).with(alsoAnnotated), Record},
		"the annotation is about another source": {marked(one, two, 0).with(func(f *Facts) {
			f.Workload.Marks.ReloadedFrom = workload.ReloadedFrom{Source: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "other"}, Hash: two}.JSON()
		}), Reload},
		"the annotation tells of a later deletion": {marked(one, workload.DeleteMarker, 2000).with(byReloader).with(edited), Reload},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != tc.want {
				t.Errorf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
		})
	}
}

func TestWhoTookTheAnnotationBack(t *testing.T) {
	by := func(step ledger.Step, strategy StrategyChoice, writers map[string]string) string {
		return decided(t, webReverted(step).pods(2, 60).with(func(f *Facts) {
			f.Strategy, f.Workload.Marks.Writers = strategy, writers
		}).f).Reverted.Name()
	}
	annotation := annotations.DefaultNames().LastReloadedFrom
	for name, tc := range map[string]struct{ got, want string }{
		"its owner":                         {by(ledger.StepAnnotationFirst, StrategyAnnotations, map[string]string{annotation: "terraform"}), "other"},
		"Reloader":                          {by(ledger.StepAnnotationFirst, StrategyAnnotations, map[string]string{annotation: "Reloader"}), "Reloader"},
		"an old variable tells nothing":     {by(ledger.StepAnnotationFirst, StrategyAnnotations, map[string]string{"STAKATER_CM_CONFIGMAP": "Reloader"}), "unknown"},
		"an old variable in a manifest":     {by(ledger.StepAnnotationFirst, StrategyAuto, map[string]string{"STAKATER_CM_CONFIGMAP": "argocd-controller"}), "unknown"},
		"one from the step before":          {by(ledger.StepAnnotation, StrategyAuto, map[string]string{"STAKATER_CM_CONFIGMAP": "terraform"}), "unknown"},
		"a value of another reload":         {by(ledger.StepVariables, StrategyAuto, map[string]string{annotations.Rolled: "terraform"}), "unknown"},
		"an old annotation tells nothing":   {by(ledger.StepVariables, StrategyEnvVars, map[string]string{annotation: "Reloader"}), "unknown"},
		"the owner of the variable":         {by(ledger.StepVariables, StrategyEnvVars, map[string]string{"STAKATER_CM_CONFIGMAP": "terraform"}), "other"},
		"a step down, Reloader's variables": {by(ledger.StepAnnotation, StrategyEnvVars, map[string]string{"STAKATER_CM_CONFIGMAP": "Reloader"}), "Reloader"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: named %s, want %s", name, tc.got, tc.want)
		}
	}
}

// Reloader's hash of a Secret shows that Reloader is there, unless we write the same.
func TestReloadersHashOfASecretShowsItUnlessItIsOurs(t *testing.T) {
	for secrets, want := range map[digest.SecretMarks]Action{digest.SecretMarksKeyed: Record, digest.SecretMarksSHA1: Reload} {
		s := web().ledger(func(l *ledger.Ledger) {
			l.Entries[source.LocalKey{Kind: source.Secret, Name: "sec"}] = digestOf("one")
			l.Marks = workload.Marks{Env: []workload.EnvMark{{Container: "app", Variable: "STAKATER_SEC_SECRET", Value: "x"}}}.Digest()
		}).cm("one", 60).source(source.Secret, "sec", "one", 10, 61, SourceSeen{Version: 61}).pods(2, 60)
		s.f.SecretMarks = secrets
		s.f.Seen.Template, s.f.Seen.TemplateReverted, s.f.Workload.RolledOut = 120, true, true
		s.f.Workload.Marks.Env = []workload.EnvMark{{Container: "app", Variable: "STAKATER_SEC_SECRET", Value: workload.MarkHash(s.f.Concerns[1].Source, digest.SecretMarksSHA1)}}
		if d := decided(t, s.f); d.Action != want {
			t.Errorf("Secrets by %d: decided to %s, want %s: %s", secrets, d.Action, want, d.Why)
		}
	}
}

func TestALedgerOfAnUnknownStepIsRefused(t *testing.T) {
	if _, err := ledger.Parse(`{"v":1,"uid":"u","n":1,"step":5}`); err == nil || !strings.Contains(err.Error(), "from 0 to 4") {
		t.Errorf("got %v", err)
	}
}

func TestAMarkGoesWhereItWillStay(t *testing.T) {
	const variable = "STAKATER_CM_CONFIGMAP"
	ours := annotations.DefaultNames().LastReloadedFrom
	applied := func(mark, manager string) func(*Facts) {
		return func(f *Facts) { f.Workload.Marks.Appliers = map[string]string{mark: manager} }
	}
	declared := func(d workload.Declared) func(*Facts) { return func(f *Facts) { f.Workload.Declared = d } }
	both := workload.Declared{NoAnnotations: true, NoEnv: []string{"app"}}
	for name, tc := range map[string]struct {
		change []func(*Facts)
		custom bool
		want   ledger.Step
		doubt  string
	}{
		"nothing speaks against variables":                              {nil, false, ledger.StepVariables, ""},
		"Git carries the variable":                                      {[]func(*Facts){applied(variable, "argocd-controller")}, false, ledger.StepAnnotationFirst, ""},
		"kubectl applies it":                                            {[]func(*Facts){applied(variable, "kubectl-client-side-apply")}, false, ledger.StepAnnotationFirst, ""},
		"the variable of another source":                                {[]func(*Facts){applied("STAKATER_X_CONFIGMAP", "argocd-controller")}, false, ledger.StepVariables, ""},
		"Git carries the annotation":                                    {[]func(*Facts){applied(ours, "argocd-controller")}, false, ledger.StepVariables, ""},
		"the annotation, and there is nothing else":                     {[]func(*Facts){applied(ours, "argocd-controller")}, true, ledger.StepAnnotationFirst, "annotation " + ours + " is in the manifest that argocd-controller applies"},
		"no variables are to be":                                        {[]func(*Facts){declared(workload.Declared{NoEnv: []string{"app"}})}, false, ledger.StepAnnotationFirst, ""},
		"no annotations are to be":                                      {[]func(*Facts){declared(workload.Declared{NoAnnotations: true})}, false, ledger.StepVariables, ""},
		"neither is to be":                                              {[]func(*Facts){declared(both)}, false, ledger.StepVariables, `its manifest declares the variables of container "app" to be null`},
		"all of it is replaced, and it can be restarted":                {[]func(*Facts){declared(workload.Declared{Replaced: true}), func(f *Facts) { f.OnRevert, f.Workload.Restartable = OnRevertRestart, true }}, true, ledger.StepRestartFirst, ""},
		"no annotations of a custom kind are to be, which removes none": {[]func(*Facts){declared(both)}, true, ledger.StepAnnotationFirst, ""},
		"all of it is replaced":                                         {[]func(*Facts){declared(workload.Declared{Replaced: true})}, false, ledger.StepVariables, "Argo CD replaces it whole at each sync (argocd.argoproj.io/sync-options: Replace=true)"},
		"an operator's object has its try":                              {[]func(*Facts){func(f *Facts) { f.Workload.Owner = `Shop "a"` }}, false, ledger.StepVariables, ""},
		"a step that was taken before is taken all along": {[]func(*Facts){declared(workload.Declared{NoAnnotations: true}), func(f *Facts) {
			l, _ := ledger.Parse(f.Workload.LedgerText)
			l.Step = ledger.StepAnnotation
			f.Workload.LedgerText = l.String()
		}}, false, ledger.StepAnnotation, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := web().ledger(nil).cmSeen("two", 130).with(func(f *Facts) { f.Workload.Custom = tc.custom })
			for _, change := range tc.change {
				s.with(change)
			}
			d := decided(t, s.f)
			if d.Action != Reload || d.Ledger.Step != tc.want || d.Doubt != tc.doubt {
				t.Errorf("decided to %s at step %d, want %d; doubt %q, want %q", d.Action, d.Ledger.Step, tc.want, d.Doubt, tc.doubt)
			}
		})
	}
}
