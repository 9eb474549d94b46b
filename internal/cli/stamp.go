package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/stamp"
)

// stamping is one run of stamp.
type stamping struct {
	options        stamp.Options
	all            bool
	cfg            config.Config
	missing        string
	secrets        string
	keyFile        string
	inPlace, check bool
	require        bool
	function       bool
}

// The values of --secrets.
const (
	secretsKeyed = "keyed"
	secretsPlain = "plain"
)

func newStamp() *cobra.Command {
	s := &stamping{}
	cmd := &cobra.Command{
		Use:   "stamp [FILE…]",
		Short: "Stamp workloads in manifests with a digest of their ConfigMaps and Secrets",
		Long: `Read manifests, and write them with one annotation on the pod template of each workload that is opted in. Its value is a
digest of the ConfigMaps and Secrets in these manifests that the workload references: if their data changes, the pod
template changes too, so applying it rolls the workload. This needs no controller and reads no cluster.

Without files, or for -, standard input is read. All files are read together. No other byte is changed, and nothing is
written unless everything could be read.

The annotation is checksum/config, or checksum/reroll if another tool uses the former. A workload without data gets the
value no-config-data. Deployments, StatefulSets, DaemonSets and CronJobs are stamped, Argo Rollouts and the other custom
kinds that reroll run knows, and those of --workload-kind.

The exit code is 0 on success, 1 if --check found something to stamp, and 2 if something could not be read or written, or if
--require is set and no workload is opted in.`,
		Example: `  kubectl kustomize . | %[1]s stamp --all > all.yaml
  %[1]s stamp --in-place deploy/*.yaml
  %[1]s stamp --check deploy/*.yaml`,
		PreRunE: func(_ *cobra.Command, args []string) error {
			if s.function {
				return nil // the input has the other flags
			}
			return s.validate(args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			// No code here waits for a context, so a signal must end the process.
			signal.Reset(syscall.SIGINT, syscall.SIGTERM)
			defer debug.SetGCPercent(debug.SetGCPercent(garbage))
			read := s.readFiles
			if s.function {
				read = s.readFunction
			}
			stream, err := read(cmd, args)
			if err != nil {
				return err
			}
			return s.run(cmd, stream)
		},
	}
	s.bind(cmd.Flags())
	for name, values := range map[string][]string{
		"missing": {string(stamp.MissingIgnore), string(stamp.MissingWarn), string(stamp.MissingError)},
		"secrets": {secretsKeyed, secretsPlain},
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

func (s *stamping) bind(flags *pflag.FlagSet) {
	flags.BoolVar(&s.all, "all", false, "stamp every workload that does not opt out, as with --auto-reload-all of reroll run")
	flags.StringVar(&s.options.Annotation, "annotation", stamp.Usual, "key of the annotation")
	flags.BoolVar(&s.inPlace, "in-place", false, "write the stamps into the files")
	flags.BoolVar(&s.check, "check", false, "show the stamps that are missing or outdated, without writing them")
	flags.BoolVar(&s.function, "function", false, "run as a KRM function, for kustomize: read a ResourceList, and these flags from the spec of its functionConfig")
	flags.BoolVar(&s.require, "require", false, "exit with 2 if no workload is opted in")
	flags.BoolVar(&s.options.Jobs, "jobs", false, "also stamp Jobs; the API server rejects a different stamp on an existing Job")
	flags.StringVarP(&s.options.Namespace, "namespace", "n", "", "namespace of objects without one in their manifest")
	flags.StringVar(&s.missing, "missing", string(stamp.MissingWarn), "what to do if a source that Pods need is not in the manifests: ignore, warn, error")
	flags.StringVar(&s.keyFile, "key-file", "", "file with at least 32 random bytes; needed to include Secrets")
	flags.StringVar(&s.secrets, "secrets", secretsKeyed, "keyed: include Secrets only with --key-file; plain: include Secrets without a key, so that their values can be guessed from the stamp")

	controller := pflag.NewFlagSet("run", pflag.ContinueOnError)
	s.cfg.BindDecisionFlags(controller)
	added := controller.Lookup("workload-kind")
	added.Usage = "GROUP/VERSION/KIND[:path.to.template] of a custom kind with a pod template to stamp, such as example.org/v1/Sandbox (default path: spec.template); may be repeated"
	flags.AddFlag(added)
	controller.VisitAll(func(f *pflag.Flag) {
		if strings.HasSuffix(f.Name, "-annotation") && !strings.HasPrefix(f.Name, "pause-") {
			f.Hidden = true // hidden in the help, but accepted for users who set it for reroll run
			flags.AddFlag(f)
		}
	})
}

// validate applies the flags, and returns all errors.
func (s *stamping) validate(files []string) error {
	errs := []error{s.cfg.Validate()}
	refuse := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	s.options.Settings = s.cfg.Rules()
	s.options.AutoReloadAll = s.all
	s.options.Missing = stamp.Missing(s.missing)
	s.options.PlainSecrets = s.secrets == secretsPlain
	refuse(!slices.Contains([]stamp.Missing{stamp.MissingIgnore, stamp.MissingWarn, stamp.MissingError}, s.options.Missing), "--missing=%s: must be ignore, warn or error", s.missing)
	refuse(s.secrets != secretsKeyed && s.secrets != secretsPlain, "--secrets=%s: must be keyed or plain", s.secrets)
	refuse(s.secrets == secretsPlain && s.keyFile != "", "--key-file and --secrets=plain exclude each other: set one of them")
	refuse(s.inPlace && s.check, "--in-place and --check exclude each other: set one of them")
	refuse(s.inPlace && (len(files) == 0 || slices.Contains(files, stdin)), "--in-place needs files")
	refuse(s.options.Namespace != "" && len(validation.IsDNS1123Label(s.options.Namespace)) > 0, "--namespace=%s is not a valid name of a namespace", s.options.Namespace)
	refuse(len(validation.IsQualifiedName(strings.ToLower(s.options.Annotation))) > 0,
		"--annotation=%s is not an annotation key: write a key such as checksum or checksum/config", s.options.Annotation)
	for i, file := range files {
		refuse(slices.Contains(files[:i], file), "%s is given twice", file)
	}
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	return nil
}

// stdin is the argument for standard input.
const stdin = "-"

// garbage is the amount of garbage that may accumulate, in percent of the live heap, which has the
// text of all manifests.
const garbage = 40

// readKey reads the key for Secrets, if the user gave one.
func (s *stamping) readKey() error {
	if s.keyFile == "" {
		return nil
	}
	random, err := os.ReadFile(s.keyFile)
	if err != nil {
		err = errors.Unwrap(err)
	} else {
		s.options.Key, err = digest.NewKey(random)
	}
	if err != nil {
		return exitError{fmt.Sprintf("--key-file=%s: %v", s.keyFile, err), codeUnreadable}
	}
	return nil
}

func (s *stamping) readFiles(cmd *cobra.Command, files []string) (*stamp.Stream, error) {
	if err := s.readKey(); err != nil {
		return nil, err
	}
	if len(files) == 0 {
		files = []string{stdin}
	}
	stream := stamp.New(s.options)
	for _, file := range files {
		if err := readInto(stream, file, cmd.InOrStdin()); err != nil {
			return nil, unreadable(file, err)
		}
	}
	return stream, nil
}

// unreadable adds the name of the file to an error, unless the error has it.
func unreadable(file string, err error) error {
	if _, located := errors.AsType[*stamp.Error](err); located {
		return exitError{"nothing was stamped:\n" + err.Error(), codeUnreadable}
	}
	return exitError{file + ": " + err.Error(), codeUnreadable}
}

func (s *stamping) run(cmd *cobra.Command, stream *stamp.Stream) error {
	result, err := stream.Stamp()
	if err != nil {
		return exitError{"nothing was stamped:\n" + err.Error(), codeUnreadable}
	}
	for _, note := range result.Notes {
		fmt.Fprintln(cmd.ErrOrStderr(), note)
	}
	if s.require && result.Workloads == 0 {
		return exitError{"no workload in these manifests is opted in, and --require is set", codeUnreadable}
	}
	switch {
	case s.check:
		return tellChanges(cmd.OutOrStdout(), result)
	case s.inPlace:
		err = rewrite(result.Files)
	default:
		out := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
		_, err = result.WriteTo(out)
		err = cmp.Or(err, out.Flush())
	}
	if err != nil {
		return exitError{err.Error(), codeUnreadable}
	}
	return nil
}

func readInto(stream *stamp.Stream, file string, in io.Reader) error {
	if file == stdin {
		return stream.Read("stdin", in)
	}
	opened, err := os.Open(file)
	if err != nil {
		return errors.Unwrap(err)
	}
	defer opened.Close()
	err = stream.Read(file, opened)
	return cmp.Or(errors.Unwrap(err), err)
}

func tellChanges(out io.Writer, result *stamp.Result) error {
	var changed []string
	for _, f := range result.Files {
		if f.Changed() {
			changed = append(changed, f.Name)
			if _, err := io.WriteString(out, f.Diff()); err != nil {
				return exitError{err.Error(), codeUnreadable}
			}
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return exitError{"not stamped, or stamped with other data: " + strings.Join(changed, ", "), codeFindings}
}
