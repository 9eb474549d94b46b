package controller

// keptClassHistories are those of SecretProviderClasses.
func keptClassHistories() map[string]keptHistory {
	return map[string]keptHistory{
		"a Pod starts with a version that a class has for a moment": {draws{kind: classKind}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			before := s.driver.Stored("vault")["password"]
			s.driver.Store("vault", "password", s.users.value())
			till, _ := s.server.Get("deployments", inShop("till"))
			s.pods.Evict(s.pods.Of(till)[0])
			for range 10 {
				s.pods.Step(till)
				for _, pod := range s.pods.Of(till) {
					if _, mounted := s.driver.Given(pod.UID, "vault"); !mounted {
						s.driver.Step(pod)
					}
				}
			}
			s.elapse(2 * longestSettle)
			s.driver.Store("vault", "password", before)
		}},
	}
}
