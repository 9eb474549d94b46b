package controller

import (
	"maps"
	"testing"

	"github.com/reroll-dev/reroll/internal/kinds"
)

// keptSeeds are the seeds of histories that have failed once, by the test that drew them. If the
// generator changes, they draw other histories, which must pass as well.
func keptSeeds() map[string]keptSeed {
	return map[string]keptSeed{
		"TestHistories": {newHistory, []uint64{
			8877, 307500006056, 307500012586, 307500014842, 307500016598, 307500020639,
			307500044346, 307500045245, 307500045271, 307500052320, 307500053860, 307500068074,
			307500086430, 307500094903, 307500096942, 307500104972, 307500110871, 307500113452,
			307500117841, 307500125526, 307500125535, 307500135094, 667062743629, 704062598322,
			704062606376, 1028608388573, 1000601, 773617923258,
			309180456116, 111006749, 111007751, 17957900231703771,
			17957920210601540, 17957936980102628, 17957939540801499,
			17957947450102778, 17957947450102460, 17958054126003069, 17958054134000023,
			17958054134004414, 17958054134004721, 17958054142003038, 17958054143001088, 17958054143002921,
			17958054143004219, 853265144224, 1795821964361369, 17958303653512920,
			17958311494823983, 17958323044320695, 17958323044321910, 17958318368821723, 17958314338821996,
			17958364376711976, 17958397462314747, 17958397462324053,
			17958303653521267, 17958397462311172, 17958455315210902, 17958455315214693,
			17958469886714847, 17958490572924153, 17958515127210463, 17958490572924931,
			17958516484923590, 17958517997321160, 17958556815460253, 17958556815464874,
			17958580760110702, 17958582814012752,
			17958609625223914, 17958614915920859, 17958625205122005, 17958665000003475,
			17958665000000820, 17959000000000819,
		}},
		"TestJobHistories": {ofKind(kinds.Jobs().Name), []uint64{
			307500023737, 307500072921, 307500133269, 307500134671, 8652460811,
			17958315836320899, 17958315836322620,
		}},
		"TestCronJobHistories": {ofKind(cronJobKind), []uint64{
			307500063262, 307500084370, 307500086474, 307500098146, 307500105540,
			17957929420302419, 17957929420303283, 17957939541004377, 17957954291400875,
			17958054129001625, 17958345673420670,
		}},
		"TestClassHistories": {ofKind(classKind), []uint64{
			307500002665, 307500035057, 307500037934, 307500052913, 307500057656, 307500057684,
			307500072553, 307500120065, 17957900232000013, 17957900232000866,
			17957954292200139, 17958054141000363, 17958311231220268,
			1795832792765538, 1795833627688109, 1795833627687023, 1795833627685618,
			17958364204120300, 17958371460920009, 1795835952652160,
			17958436415380648, 17958436415380788, 17958436415380967, 17958584269210031, 17958623718610202,
			17958748065510268, 17958748065510018,
		}},
	}
}

// keptSeed has the seeds of one kind of histories.
type keptSeed struct {
	draw  func(seed uint64, steps int) *history
	seeds []uint64
}

func TestKeptSeeds(t *testing.T) {
	for test, kept := range keptSeeds() {
		for _, seed := range kept.seeds {
			if err := kept.draw(seed, allSteps).run(); err != nil {
				t.Errorf("history %d fails: %v\nREROLL_SEED=%d go test ./internal/controller -run '%s$' replays it in full.", seed, err, seed, test)
			}
		}
	}
}

// TestKeptSeedsOfBundles plays the seeds of TestHistoriesOfBundles that have failed once.
func TestKeptSeedsOfBundles(t *testing.T) {
	for _, seed := range []uint64{
		668242805198, 988951442938, 17957929420500198, 17957929421100048, 17957939540600086, 17958054139000749,
		17958054123000049, 1036773924225, 1795820091000108, 1795820167000614, 1795820536000148, 1795820686000521,
		544915327605, 805803089918, 153164746048, 1795823281700746, 1795822430100005, 17958307699710213, 179583291774000524,
		179583572478000466, 17958344010910170, 17958358543120494,
		17958435048271279, 17958451262970297, 17958582123920994, 17958621587520508,
	} {
		h := newBundleHistory(t, seed)
		if h.run(); h.failed != "" {
			t.Errorf("%s\nhistory %d fails: %s", h.trace.String(), seed, h.failed)
		}
	}
}

// TestKeptSeedsOfKeys plays the seeds of TestHistoriesOfKeys that have failed once.
func TestKeptSeedsOfKeys(t *testing.T) {
	for _, seed := range []uint64{17958054124000951} {
		h := newKeyHistory(t, seed)
		if h.run(); h.failed != "" {
			t.Errorf("%s\nhistory %d fails: %s", h.trace.String(), seed, h.failed)
		}
	}
}

// TestKeptHistories plays the histories that have failed once.
func TestKeptHistories(t *testing.T) {
	all := keptHistories()
	maps.Copy(all, keptRunHistories())
	maps.Copy(all, keptClassHistories())
	maps.Copy(all, keptPodHistories())
	maps.Copy(all, keptAllHistories())
	maps.Copy(all, keptWaitingHistories())
	maps.Copy(all, keptSelectedHistories())
	maps.Copy(all, keptRareHistories())
	for name, kept := range all {
		t.Run(name, func(t *testing.T) {
			s := script{newHistoryOf(kept.draws, 0, 0)}
			s.traced, s.calm = true, true
			s.users.settleIn()
			kept.play(s)
			s.rest()
			if s.oracle.err != nil {
				t.Errorf("%v\n%s", s.oracle.err, s.trace.String())
			}
		})
	}
}
