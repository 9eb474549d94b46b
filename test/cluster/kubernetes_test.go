package cluster

import (
	"strings"
	"testing"
)

func TestWhichKubernetes(t *testing.T) {
	for _, tc := range []struct {
		asked, folder, fault string
		policies             bool
		flags                int
	}{
		{"", "kubernetes", "", true, 1},
		{"1.25", "kubernetes-1.25", "", false, 0},
		{"1.2", "", `THROWAWAY_KUBERNETES="1.2": there is no module for that Kubernetes: say 1.25, or unset it`, false, 0},
	} {
		t.Run(tc.asked, func(t *testing.T) {
			t.Setenv(minorVariable, tc.asked)
			folder, err := kubernetesFolder()
			fault := ""
			if err != nil {
				fault = err.Error()
			}
			if (fault == "") != (tc.fault == "") || !strings.HasPrefix(fault, tc.fault) {
				t.Errorf("the error is %q", fault)
			}
			policies, errOfPolicies := ServesAdmissionPolicies()
			flags, errOfFlags := WithoutStreamedLists()
			if folder != tc.folder || policies != tc.policies || len(flags) != tc.flags {
				t.Errorf("the folder is %q, policies %t, flags %q", folder, policies, flags)
			}
			if (errOfPolicies == nil) != (tc.fault == "") || (errOfFlags == nil) != (tc.fault == "") {
				t.Errorf("the errors are %v and %v", errOfPolicies, errOfFlags)
			}
		})
	}
}
