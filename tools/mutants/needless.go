package main

// needless are mutations by which workloads roll without a change. The oracle has to give that as the
// reason.
func needless() []mutation {
	const compare, reason = "internal/reload/compare.go", "without a change since its last rollout"
	const digests = "	src.Digest, src.Keys = digest.NewEncoder(sha256.New()).Content(items)\n"
	return []mutation{
		{
			what: "needless: data that the rollout of another client brings is reloaded",
			file: compare,
			from: "func (f *Facts) weighEvidence(c *Concern, base base) finding {\n	switch f.order(c) {\n	case upToDate:\n		return recorded",
			to:   "func (f *Facts) weighEvidence(c *Concern, base base) finding {\n	switch f.order(c) {\n	case upToDate:\n		return changed",
			in:   controller, tests: histories, histories: 300, says: reason,
		},
		{
			what: "needless: data from before its source concerned the workload is reloaded",
			file: compare,
			from: "	if f.usedSince(c) > content && content != 0 {", to: "	if f.usedSince(c) == content && content != 0 {",
			in: controller, tests: histories, histories: 300, says: reason,
		},
		{
			what: "needless: a choice of other keys is a change of the data",
			file: compare,
			from: "	if form := f.formOf(c, digest); form != otherData {", to: "	if form := f.formOf(c, digest); form != otherData && false {",
			in: controller, tests: histories, histories: 300, says: reason,
		},
		{
			what: "needless: a source that was only created counts as edited",
			file: "internal/reload/evidence.go",
			from: "		return c.Seen.Edited\n", to: "		return true\n",
			in: controller, tests: histories, histories: 300, says: reason,
		},
		{
			what: "needless: labels are data",
			file: "internal/source/source.go",
			from: digests, to: "	for key, value := range cm.Labels {\n		items = append(items, digest.Item{Key: key, Text: value})\n	}\n" + digests,
			in: controller, tests: histories, histories: 300, says: reason,
		},
		{
			what: "needless: annotations are data",
			file: "internal/source/source.go",
			from: digests, to: "	for key, value := range cm.Annotations {\n		items = append(items, digest.Item{Key: key, Text: value})\n	}\n" + digests,
			in: controller, tests: histories, histories: 300, says: reason,
		},
	}
}
