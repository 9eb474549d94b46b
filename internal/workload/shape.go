package workload

// Shape is what has to be known of an object to change single entries of its
// lists where nothing merges them by name.
type Shape struct {
	// Template are the fields that lead to the pod template.
	Template []string
	// These maps are there, and need not be made.
	Annotations, TemplateMetadata, TemplateAnnotations bool
	// Variables are, for each regular container, the names in its environment.
	Variables [][]string
}
