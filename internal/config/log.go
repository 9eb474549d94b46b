package config

import (
	"io"
	"log/slog"
	"strings"
)

// Logger returns a logger for a format and a level. If one of them is unknown, Logger warns and
// uses the default.
func (c *Config) Logger(w io.Writer) *slog.Logger {
	level, levelKnown := levelOf(c.LogLevel)
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: likeReloader}
	var handler slog.Handler = slog.NewTextHandler(w, opts)
	formatKnown := true
	switch strings.ToLower(strings.TrimSpace(c.LogFormat)) {
	case "", "text":
	case "json":
		handler = slog.NewJSONHandler(w, opts)
	default:
		formatKnown = false
	}
	log := slog.New(handler)
	if !levelKnown {
		log.Warn("unknown log level, using info", "--log-level", c.LogLevel, "known", "trace, debug, info, warn, error, fatal, panic")
	}
	if !formatKnown {
		log.Warn("unknown log format, using text", "--log-format", c.LogFormat, "known", "text, json")
	}
	return log
}

// levelOf knows all levels of Reloader. A level that slog lacks becomes the nearest one.
func levelOf(name string) (slog.Level, bool) {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "trace", "debug":
		return slog.LevelDebug, true
	case "", "info":
		return slog.LevelInfo, true
	case "warn", "warning":
		return slog.LevelWarn, true
	case "error", "fatal", "panic":
		return slog.LevelError, true
	default:
		return slog.LevelInfo, false
	}
}

// likeReloader writes the level as Reloader does, because alert rules for logs search for
// level=warning and "level":"error".
func likeReloader(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 || a.Key != slog.LevelKey {
		return a
	}
	if level, ok := a.Value.Any().(slog.Level); ok {
		a.Value = slog.StringValue(levelName(level))
	}
	return a
}

func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "debug"
	case level < slog.LevelWarn:
		return "info"
	case level < slog.LevelError:
		return "warning"
	default:
		return "error"
	}
}
