package config

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
)

func TestLogLevels(t *testing.T) {
	all := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	for name, want := range map[string]slog.Level{
		"": slog.LevelInfo, "trace": slog.LevelDebug, "debug": slog.LevelDebug, "info": slog.LevelInfo,
		"warn": slog.LevelWarn, "warning": slog.LevelWarn, "error": slog.LevelError, "fatal": slog.LevelError, "panic": slog.LevelError,
		"INFO": slog.LevelInfo, "Warning": slog.LevelWarn, "DEBUG": slog.LevelDebug, "Error": slog.LevelError,
	} {
		var out bytes.Buffer
		log := (&Config{LogLevel: name}).Logger(&out)
		if out.Len() > 0 {
			t.Errorf("%q is complained about: %s", name, out.String())
		}
		for _, level := range all {
			out.Reset()
			log.Log(t.Context(), level, "said")
			if got := out.Len() > 0; got != (level >= want) {
				t.Errorf("%q: %s is written: %t", name, level, got)
			}
		}
	}
}

func TestLogFormats(t *testing.T) {
	for name, isJSON := range map[string]bool{"": false, "text": false, "Text": false, "json": true, "JSON": true, "Json": true} {
		var out bytes.Buffer
		(&Config{LogFormat: name}).Logger(&out).Info("said", "of", "web")
		var entry struct{ Level, Msg, Of string }
		err := json.Unmarshal(out.Bytes(), &entry)
		if got := err == nil; got != isJSON || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%q writes %s", name, out.String())
		}
		if isJSON && (entry.Level != "info" || entry.Msg != "said" || entry.Of != "web") {
			t.Errorf("%q writes %s", name, out.String())
		}
		if !isJSON && !strings.HasSuffix(out.String(), " level=info msg=said of=web\n") {
			t.Errorf("%q writes %s", name, out.String())
		}
	}
}

// Alert rules for the log of Reloader depend on these levels.
func TestLevelsAreWrittenAsReloaderDoes(t *testing.T) {
	for level, want := range map[slog.Level]string{
		slog.LevelDebug: "debug", slog.LevelInfo: "info", slog.LevelWarn: "warning", slog.LevelError: "error",
	} {
		for format, field := range map[string]string{"text": " level=" + want + " ", "json": `,"level":"` + want + `",`} {
			var out bytes.Buffer
			log := (&Config{LogFormat: format, LogLevel: "debug"}).Logger(&out)
			log.With("level", "of the sea").WithGroup("pool").Log(t.Context(), level, "said", "level", slog.LevelWarn)
			if !strings.Contains(out.String(), field) {
				t.Errorf("%s writes %s", format, out.String())
			}
			// Other attributes with this name are unchanged.
			if !strings.Contains(out.String(), "of the sea") || !strings.Contains(out.String(), "WARN") {
				t.Errorf("%s writes %s", format, out.String())
			}
		}
	}
}

func TestAnUnknownFormatOrLevelIsAWarningAndTheDefault(t *testing.T) {
	for about, tc := range map[string]struct {
		cfg  Config
		want []string
	}{
		"format": {Config{LogFormat: "xml"}, []string{`level=warning msg="unknown log format, using text" --log-format=xml known="text, json"`}},
		"level":  {Config{LogLevel: "loud"}, []string{`level=warning msg="unknown log level, using info" --log-level=loud known="trace, debug, info, warn, error, fatal, panic"`}},
		"both":   {Config{LogFormat: "logfmt", LogLevel: "5"}, []string{"unknown log level", "unknown log format"}},
		"level of a log in JSON": {Config{LogFormat: "json", LogLevel: "loud"},
			[]string{`"level":"warning","msg":"unknown log level, using info","--log-level":"loud"`}},
	} {
		var out bytes.Buffer
		log := tc.cfg.Logger(&out)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != len(tc.want) {
			t.Errorf("%s: %q", about, lines)
			continue
		}
		for i, want := range tc.want {
			if !strings.Contains(lines[i], want) {
				t.Errorf("%s: %s\nwant: %s", about, lines[i], want)
			}
		}
		out.Reset()
		log.Debug("not said")
		log.Info("said")
		if got := strings.Count(out.String(), "\n"); got != 1 {
			t.Errorf("%s: info is not the level that counts: %s", about, out.String())
		}
	}
}
