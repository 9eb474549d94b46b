package main

// access are mutations of who sees the pages.
func access() []mutation {
	const local, tokens, signIn, reviews, permits, identity = "internal/access/local.go", "internal/access/tokens.go", "internal/access/signin.go", "internal/access/reviews.go", "internal/access/permits.go", "internal/access/identity.go"
	of := func(what, file, from, to, tests string) mutation {
		return mutation{what: "access: " + what, file: file, from: from, to: to, in: "./internal/access", tests: "^" + tests + "$"}
	}
	return []mutation{
		of("any host is answered", local, "case !l.isOurHost(r.Host):", "case r.Host == \"\":", "TestOnlyAddressesOfThisMachineAreAnswered"),
		of("a host that begins with an own one is answered", local, "strings.EqualFold(host, net.JoinHostPort(own, l.port))", "strings.HasPrefix(strings.ToLower(host), own)", "TestOnlyAddressesOfThisMachineAreAnswered"),
		of("another port is answered", local, "net.JoinHostPort(own, l.port)", "net.JoinHostPort(own, host[strings.LastIndex(host, \":\")+1:])", "TestOnlyAddressesOfThisMachineAreAnswered"),
		of("a script of another port reads the pages", local, "(site == \"cross-site\" || site == \"same-site\") && !isLink", "site == \"cross-site\" && !isLink", "TestPagesOfOtherOriginsGetNothing"),
		of("any origin reads the pages of reroll ui", local, "origin != \"\" && origin != \"http://\"+r.Host", "origin == \"-\"", "TestPagesOfOtherOriginsGetNothing"),
		of("the link opens the pages twice", local, "l.used || fingerprintOf(token) != l.link", "fingerprintOf(token) != l.link", "TestTheLinkOpensThePagesOnce"),
		of("any token opens the pages", local, "l.used || fingerprintOf(token) != l.link", "l.used || token == \"\"", "TestTheLinkOpensThePagesOnce|TestAnotherTokenOpensNothing"),
		of("the link never expires", local, " || !l.clock.Now().Before(l.until)", "", "TestTheLinkExpires"),
		of("a browser uses up the link in advance", local, " || r.Header.Get(\"Sec-Purpose\") != \"\"", "", "TestTheLinkOpensThePagesOnce"),
		of("any cookie opens the pages", local, "l.used && fingerprintOf(cookie.Value) == l.session", "l.used && cookie.Value != \"\"", "TestTheLinkOpensThePagesOnce"),
		of("all processes have the same path", local, "base: \"/\" + strings.ToLower(rand.Text()[:16])", "base: \"/ui\"", "TestTheLinkOpensThePagesOnce"),
		of("another site signs in", signIn, "err := t.origins.Check(r); err != nil", "err := t.origins.Check(r); err != nil && r.Host == \"\"", "TestFormsOfOtherSitesAreRefused"),
		of("scripts read the cookie", signIn, "HttpOnly: true", "HttpOnly: false", "TestSignInAndOut"),
		of("the cookie is sent with requests of other sites", signIn, "http.SameSiteStrictMode", "http.SameSiteNoneMode", "TestSignInAndOut"),
		of("the cookie over HTTPS is sent over HTTP", signIn, "r.TLS != nil || strings.HasPrefix(r.Header.Get(\"Origin\"), \"https://\")", "r.TLS != nil", "TestACookieOverHTTPSIsSecure"),
		of("the cookie has the token", signIn, "	setCookie(w, r, secret, 0)\n	found(w, next)", "	setCookie(w, r, secret+id.token, 0)\n	found(w, next)", "TestSignInAndOut"),
		of("the form leads to another site", signIn, "to.IsAbs() || to.Host != \"\" || ", "", "TestAddressesStayBelowThePages"),
		of("a session goes on after the sign-out", "internal/access/session.go", "	delete(r.sessions, s.key)\n	s.id.sessions", "	s.id.sessions", "TestSignInAndOut"),
		of("a page accepts writes", tokens, "		case !isRead(r):", "		case r.Method == \"\":", "TestPagesOnlyRead"),
		of("the cookie counts more than the header", tokens, "header := r.Header.Get(\"Authorization\"); header != \"\"", "header := r.Header.Get(\"Authorization\"); header != \"\" && r.Header.Get(\"Cookie\") == \"\"", "TestATokenInAHeaderCountsMoreThanACookie"),
		of("a forged token is accepted", reviews, "!review.Status.Authenticated || review.Status.User.Username == \"\"", "review.Status.User.Username == \"\"", "TestAForgedTokenIsNotAccepted"),
		of("the log has the token", reviews, "strings.ReplaceAll(err.Error(), token, \"TOKEN\")", "err.Error()", "TestWithoutAnAnswerASessionWaits"),
		of("the groups of the user do not count", reviews, "Groups: user.Groups, ", "", "TestTheReviewHasTheGroupsOfTheUser"),
		of("the namespace is not asked", reviews, "Namespace: namespace, Verb: \"list\"", "Verb: \"list\"", "TestWhatAReaderMayRead"),
		of("what is denied is allowed", reviews, "review.Status.Allowed && !review.Status.Denied", "review.Status.Allowed", "TestWhatAReaderMayRead"),
		of("a reader without permissions sees names", reviews, "allowed = review.Status.Allowed && !review.Status.Denied", "allowed = !review.Status.Denied", "TestWhatAReaderMayRead"),
		of("an answer about one namespace counts for all", "internal/access/access.go", "return r.permits.allow(ctx, r.id, question{namespace, resource})", "return r.permits.allow(ctx, r.id, question{\"shop\", resource})", "TestWhatAReaderMayRead"),
		of("a token that was revoked is accepted for an hour", identity, "r.clock.Since(id.reviewed) < reviewEvery", "r.clock.Since(id.reviewed) < 60*reviewEvery", "TestARevokedTokenEndsItsSessionsWithinAMinute"),
		of("the token of another user goes on", identity, "err == nil && user.Username != id.name()", "err == nil && user.Username == \"\"", "TestOtherGroupsAreOtherPermissions"),
		of("other groups have the permissions of the earlier ones", identity, "		r.permits.drop(id)\n", "", "TestOtherGroupsAreOtherPermissions"),
		of("a permission is kept too long", permits, "kept = allowedFor", "kept = 60 * allowedFor", "TestAnswersAreKeptForSeconds"),
		of("without an answer, a reader may read", permits, "allowed, kept = false, failedFor", "allowed, kept = true, failedFor", "TestAnswersAreKeptForSeconds"),
		of("wrong tokens are not limited", "internal/access/attempts.go", "of != nil && of.TokensAt(now) < 1", "of != nil && of.TokensAt(now) < -1000", "TestWrongTokensCostOthersNothing"),
		of("a tenant signs out others", "internal/access/readers.go", "ofTenant[tenant(name)] == most", "true", "TestATenantSignsOutNobodyElse"),
		of("a user with many tokens signs out others", "internal/access/readers.go", "case ofUser >= identitiesOfOne:", "case ofUser >= 100*identitiesOfOne:", "TestReadersAreBounded"),
		of("a page with many questions asks all of them each time", permits, "		delete(p.of[id], q)\n		p.count--\n		return\n", "		delete(p.of[id], q)\n		p.count--\n", "TestTooManyQuestionsLoseFewAnswers"),
		of("a standby has sessions of its own", "internal/access/leader.go", "case err == nil && ip == \"\", ", "case err == nil, ", "TestAStandbyServesThePagesOfTheLeader"),
		of("two replicas forward a request to each other", "internal/access/leader.go", "			err = errNoLeader\n", "", "TestAReplicaThatIsNoLeaderAnswersForNone"),
		of("a form that a standby forwards looks like that of another site", "internal/access/leader.go", "r.Out.Header.Set(forwardedHeader, \"true\")", "r.Out.Header.Set(forwardedHeader, \"true\")\n			r.Out.Host = r.Out.URL.Host", "TestAStandbyServesThePagesOfTheLeader"),
		of("inline scripts run", "internal/access/headers.go", "script-src 'self'", "script-src 'self' 'unsafe-inline'", "TestEveryAnswerHasTheHeaders"),
	}
}
