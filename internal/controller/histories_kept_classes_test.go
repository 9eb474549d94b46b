package controller

// keptClassHistories are those of SecretProviderClasses.
func keptClassHistories() map[string]keptHistory {
	return map[string]keptHistory{
		"a Pod starts with a version that a class has for a moment": {draws{kind: classKind}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			s.users.rotate("vault")
			till, _ := s.server.Get("deployments", inShop("till"))
			s.pods.Evict(s.pods.Of(till)[0])
			for range 10 {
				s.pods.Step(till)
			}
			s.elapse(2 * longestSettle)
			s.users.rotateBack("vault")
		}},
	}
}
