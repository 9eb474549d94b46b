package reload

import (
	"strings"
	"testing"
)

func TestStrategies(t *testing.T) {
	for name, tc := range map[string]struct {
		strategy Strategy
		custom   bool
		before   Step
		want     Step
	}{
		"auto":                                  {StrategyAuto, false, StepVariables, StepVariables},
		"auto, a custom kind":                   {StrategyAuto, true, StepVariables, StepAnnotationFirst},
		"env-vars":                              {StrategyEnvVars, false, StepVariables, StepVariables},
		"env-vars, a custom kind":               {StrategyEnvVars, true, StepVariables, StepVariables},
		"annotations":                           {StrategyAnnotations, false, StepVariables, StepAnnotationFirst},
		"back from annotations":                 {StrategyEnvVars, false, StepAnnotationFirst, StepVariables},
		"variables were taken away before":      {StrategyEnvVars, false, StepAnnotation, StepAnnotation},
		"they were, and it is annotations now":  {StrategyAnnotations, false, StepAnnotation, StepAnnotation},
		"they were, and it is a custom kind":    {StrategyAuto, true, StepAnnotation, StepAnnotation},
		"a custom kind, env-vars from now on":   {StrategyEnvVars, true, StepAnnotationFirst, StepVariables},
		"annotations after an annotation of it": {StrategyAnnotations, false, StepAnnotationFirst, StepAnnotationFirst},
	} {
		t.Run(name, func(t *testing.T) {
			s := web().ledger(func(l *Ledger) { l.Step = tc.before }).cmSeen("two", 130).with(func(f *Facts) {
				f.Strategy, f.Workload.Custom = tc.strategy, tc.custom
			})
			d := Decide(s.f)
			if d.Action != Reload || d.Ledger.Step != tc.want {
				t.Fatalf("decided to %s at step %d, want step %d", d.Action, d.Ledger.Step, tc.want)
			}
			m := d.Mark(&s.f.Workload, WorkloadSeen{Whole: true}, SecretMarksKeyed, at(200))
			if byVariable := tc.want == StepVariables; byVariable != (len(m.Env) == 1) || byVariable != (m.ReloadedFrom == "") || m.Rolled != "" {
				t.Errorf("marked by %+v", m)
			}
		})
	}
}

func TestAnotherStrategyRollsNothing(t *testing.T) {
	for _, strategy := range []Strategy{StrategyAuto, StrategyEnvVars, StrategyAnnotations} {
		for step := StepVariables; step <= lastStep; step++ {
			for _, secrets := range []SecretMarks{SecretMarksKeyed, SecretMarksSHA1} {
				for _, custom := range []bool{false, true} {
					s := web().mark("x").ledger(nil).cm("one", 60).with(func(f *Facts) {
						f.Strategy, f.SecretMarks, f.Workload.Custom = strategy, secrets, custom
					})
					s.ledgerOf(func(l *Ledger) { l.Step, l.Marks = step, s.f.Workload.MarksDigest() })
					if d := Decide(s.f); d.Action != Nothing {
						t.Errorf("strategy %d, step %d, Secrets by %d, custom %t: decided to %s: %s", strategy, step, secrets, custom, d.Action, d.Why)
					}
				}
			}
		}
	}
}

func TestTheLadderGoesOnFromTheStrategy(t *testing.T) {
	annotations := func(f *Facts) { f.Strategy = StrategyAnnotations }
	for name, tc := range map[string]struct {
		when  *situation
		final bool
		step  Step
	}{
		"a variable was taken away":                       {reverted(StepVariables), false, StepAnnotation},
		"then the annotation":                             {reverted(StepAnnotation), true, 0},
		"the annotation of the strategy":                  {reverted(StepAnnotationFirst).with(annotations), true, 0},
		"a variable, from before it was annotations":      {reverted(StepVariables).with(annotations), false, StepAnnotation},
		"an annotation, from before it was variables":     {reverted(StepAnnotationFirst), true, 0},
		"the annotation of a custom kind":                 {reverted(StepAnnotationFirst).with(func(f *Facts) { f.Workload.Custom = true }), true, 0},
		"a variable of a custom kind that is to have one": {reverted(StepVariables).with(func(f *Facts) { f.Workload.Custom, f.Strategy = true, StrategyEnvVars }), false, StepAnnotation},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tc.when.pods(2, 60).f)
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
	var one Source
	copy(one.Reloader[:], "sha1 of one")
	hash := MarkHash(one, SecretMarksSHA1)
	annotation := func(name, namespace, hash string) func(*Facts) {
		return func(f *Facts) {
			f.Strategy = StrategyAnnotations
			f.Workload.Marks.ReloadedFrom = ReloadedFrom{Source: SourceKey{ConfigMap, namespace, name}, Hash: hash, Containers: []string{"app"}}.JSON()
		}
	}
	// The ConfigMap was changed at second 40, before the installation: only a mark can tell that somebody missed it.
	changed := func() *situation { return web().cm("two", 40).pods(1, 39) }
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"the annotation does not fit":                {changed().with(annotation("cm", "shop", hash)), Reload},
		"it does not fit, the pods are younger":      {web().cm("two", 40).pods(1, 41).with(annotation("cm", "shop", hash)), Record},
		"it fits":                                    {web().cm("one", 40).pods(1, 39).with(annotation("cm", "shop", hash)), Record},
		"it is about another source":                 {changed().with(annotation("other", "shop", hash)), Record},
		"it is about another namespace":              {changed().with(annotation("cm", "elsewhere", hash)), Record},
		"it tells of a deletion":                     {changed().with(annotation("cm", "shop", DeleteMarker)), Record},
		"it cannot be read":                          {changed().with(annotation("cm", "shop", hash)).with(func(f *Facts) { f.Workload.Marks.ReloadedFrom = "{" }), Record},
		"it stands there, but variables are written": {changed().with(annotation("cm", "shop", hash)).with(func(f *Facts) { f.Strategy = StrategyEnvVars }), Record},
		"a variable, and variables are written":      {changed().mark(hash), Reload},
		"a variable, on a custom kind: Reloader wrote it there too": {
			changed().mark(hash).with(func(f *Facts) { f.Workload.Custom = true }), Reload},
		"a variable, and annotations are written": {changed().mark(hash).with(func(f *Facts) { f.Strategy = StrategyAnnotations }), Record},
	} {
		t.Run(name, func(t *testing.T) {
			if d := Decide(tc.when.f); d.Action != tc.want {
				t.Errorf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
		})
	}
}

func TestWhoTookTheAnnotationBack(t *testing.T) {
	by := func(step Step, strategy Strategy, writers map[string]string) string {
		return Decide(reverted(step).pods(2, 60).with(func(f *Facts) {
			f.Strategy, f.Workload.Marks.Writers = strategy, writers
		}).f).Reverted.Name()
	}
	annotation := DefaultNames().LastReloadedFrom
	for name, tc := range map[string]struct{ got, want string }{
		"its owner":                         {by(StepAnnotationFirst, StrategyAnnotations, map[string]string{annotation: "terraform"}), "terraform"},
		"Reloader":                          {by(StepAnnotationFirst, StrategyAnnotations, map[string]string{annotation: "Reloader"}), "Reloader"},
		"an old variable tells nothing":     {by(StepAnnotationFirst, StrategyAnnotations, map[string]string{"STAKATER_CM_CONFIGMAP": "Reloader"}), "unknown"},
		"an old annotation tells nothing":   {by(StepVariables, StrategyEnvVars, map[string]string{annotation: "Reloader"}), "unknown"},
		"the owner of the variable":         {by(StepVariables, StrategyEnvVars, map[string]string{"STAKATER_CM_CONFIGMAP": "terraform"}), "terraform"},
		"a step down, Reloader's variables": {by(StepAnnotation, StrategyEnvVars, map[string]string{"STAKATER_CM_CONFIGMAP": "Reloader"}), "Reloader"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: named %s, want %s", name, tc.got, tc.want)
		}
	}
}

// Reloader's hash of a Secret shows that Reloader is there, unless we write the same.
func TestReloadersHashOfASecretShowsItUnlessItIsOurs(t *testing.T) {
	for secrets, want := range map[SecretMarks]Action{SecretMarksKeyed: Record, SecretMarksSHA1: Reload} {
		s := web().ledger(func(l *Ledger) {
			l.Entries[LocalKey{Secret, "sec"}] = digestOf("one")
			l.Marks = Marks{Env: []EnvMark{{"app", "STAKATER_SEC_SECRET", "x"}}}.digest()
		}).cm("one", 60).source(Secret, "sec", "one", 10, 61, SourceSeen{Version: 61}).pods(2, 60)
		s.f.SecretMarks = secrets
		s.f.Seen.Template, s.f.Seen.Returned, s.f.Workload.AtRest = 120, true, true
		s.f.Workload.Marks.Env = []EnvMark{{"app", "STAKATER_SEC_SECRET", MarkHash(s.f.Concerns[1].Source, SecretMarksSHA1)}}
		if d := Decide(s.f); d.Action != want {
			t.Errorf("Secrets by %d: decided to %s, want %s: %s", secrets, d.Action, want, d.Why)
		}
	}
}

func TestALedgerOfAnUnknownStepIsRefused(t *testing.T) {
	if _, err := ParseLedger(`{"v":1,"uid":"u","n":1,"step":3}`); err == nil || !strings.Contains(err.Error(), "from 0 to 2") {
		t.Errorf("got %v", err)
	}
}
