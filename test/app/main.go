// Command app is a program for tests on real nodes: it shows what its container reads. At its start
// it prints its environment and its files, and then it serves what it has read by HTTP, as it was
// at that time.
//
//	app                     wait for a signal, as the process that holds the namespaces of a pod
//	app serve               print and serve; netexec is another name, by which the examples start theirs
//	app printenv [NAME]     print the environment of this process
//	app cat FILE            print a file
//	app request METHOD PATH ask the one that serves in this container
//	app signal HUP PID      send SIGHUP to a process, since the image has no kill
//
// A POST to /reload, and SIGHUP if --reload-on-signal is set, makes it read its files again. A
// process cannot read its environment again. It fails on demand: see the flags, and the path
// /ready.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		wait(syscall.SIGTERM, syscall.SIGINT)
		return nil
	}
	switch args[0] {
	case "serve", "netexec":
		return serve(args[1:])
	case "printenv":
		return printenv(os.Stdout, args[1:])
	case "cat":
		for _, path := range args[1:] {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if _, err := os.Stdout.Write(content); err != nil {
				return err
			}
		}
		return nil
	case "request":
		if len(args) != 3 {
			return errors.New("app request: name a method and a path")
		}
		return request(args[1], args[2])
	case "signal":
		if len(args) != 3 || args[1] != "HUP" {
			return errors.New("app signal: name HUP and a process")
		}
		pid, err := strconv.Atoi(args[2])
		if err != nil {
			return fmt.Errorf("app signal: %w", err)
		}
		return syscall.Kill(pid, syscall.SIGHUP)
	default:
		return fmt.Errorf("app has no command %q: see test/app", args[0])
	}
}

func printenv(to io.Writer, names []string) error {
	if len(names) == 0 {
		for _, entry := range os.Environ() {
			fmt.Fprintln(to, entry)
		}
		return nil
	}
	for _, name := range names {
		value, found := os.LookupEnv(name)
		if !found {
			return fmt.Errorf("no variable %s", name)
		}
		fmt.Fprintln(to, value)
	}
	return nil
}

func request(method, path string) error {
	req, err := http.NewRequest(method, "http://127.0.0.1:8080"+path, nil) //nolint:gosec // a port of the container's own
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req) //nolint:gosec // as above
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(os.Stdout, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s answers %s", method, path, resp.Status)
	}
	return nil
}

func serve(args []string) error {
	flags := flag.NewFlagSet("app serve", flag.ContinueOnError)
	port := flags.Int("http-port", 8080, "where it serves")
	onSignal := flags.Bool("reload-on-signal", false, "read the files again on SIGHUP, which otherwise ends it")
	code := flags.Int("exit", -1, "end at once with this exit code, after it has printed")
	fill := flags.Bool("fill-memory", false, "use memory without end")
	unready := flags.Bool("never-ready", false, "answer /readyz with 503")
	if err := flags.Parse(args); err != nil {
		return err
	}
	a, err := newApp(os.Stdout)
	if err != nil {
		return err
	}
	a.ready.Store(!*unready)
	if *code >= 0 {
		os.Exit(*code)
	}
	if *fill {
		fillMemory()
	}
	failed := make(chan error, 1)
	go func() { failed <- http.ListenAndServe(fmt.Sprintf(":%d", *port), a.handler()) }() //nolint:gosec // a program for tests
	if *onSignal {
		hangups := make(chan os.Signal, 1)
		signal.Notify(hangups, syscall.SIGHUP)
		go func() {
			for range hangups {
				if err := a.read("reloaded"); err != nil {
					failed <- err
				}
			}
		}()
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	select {
	case err := <-failed:
		return err
	case <-ended:
		return nil
	}
}

func wait(signals ...os.Signal) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, signals...)
	<-ended
}
