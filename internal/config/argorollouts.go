package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// argoRolloutsFlag has the spelling of Reloader. Flags are case-sensitive, and users misspell this
// one.
const argoRolloutsFlag = "is-Argo-Rollouts"

func bindArgoRollouts(to **bool, flags *pflag.FlagSet) {
	const usage = "roll Argo Rollouts: true (also without a value), false, or auto (if the cluster serves them and the controller may list them); also spelled --is-argo-rollouts (default: auto)"
	for _, name := range []string{argoRolloutsFlag, strings.ToLower(argoRolloutsFlag)} {
		flag := flags.VarPF(optionalBool{to}, name, "", usage)
		flag.NoOptDefVal = "true"
		flag.Hidden = name != argoRolloutsFlag
	}
}

// Auto is the value of an unset flag.
const Auto = "auto"

// TakesAuto reports whether a flag accepts Auto in addition to true and false.
func TakesAuto(flag *pflag.Flag) bool {
	_, ok := flag.Value.(optionalBool)
	return ok
}

// optionalBool is a boolean flag that may be unset.
type optionalBool struct{ value **bool }

// String returns the value, empty if it is unset.
func (b optionalBool) String() string {
	if b.value == nil || *b.value == nil {
		return ""
	}
	return strconv.FormatBool(**b.value)
}

// Set reads a value.
func (b optionalBool) Set(text string) error {
	if strings.TrimSpace(text) == Auto {
		*b.value = nil
		return nil
	}
	value, err := strconv.ParseBool(strings.TrimSpace(text))
	if err != nil {
		return fmt.Errorf("%q is not valid: write true, false or auto", text)
	}
	*b.value = &value
	return nil
}

// Type is the placeholder for the value in the help.
func (b optionalBool) Type() string { return "bool" }
