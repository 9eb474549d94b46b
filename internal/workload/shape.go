package workload

// Shape contains what a JSON patch needs to change single entries of lists, for kinds whose lists
// are not merged by name.
type Shape struct {
	// Template is the path of the pod template.
	Template []string
	// These maps exist, and do not have to be created.
	Annotations, TemplateMetadata, TemplateAnnotations bool
	// Variables are the names in the environment of each regular container.
	Variables [][]string
}
