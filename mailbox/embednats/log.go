package embednats

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
)

// logger hands the broker's messages to slog, and keeps the first fatal one: it says why the broker does not start.
type logger struct {
	log *slog.Logger

	mu    sync.Mutex
	fatal error
}

func (l *logger) Noticef(format string, v ...any) {
	l.log.Debug("broker", "message", fmt.Sprintf(format, v...))
}

func (l *logger) Debugf(format string, v ...any) {
	l.log.Debug("broker", "message", fmt.Sprintf(format, v...))
}
func (l *logger) Tracef(string, ...any) {}
func (l *logger) Warnf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if afterKill(text) {
		l.log.Debug("broker", "message", text)
		return
	}
	l.log.Warn("broker", "message", text)
}

// afterKill reports whether a warning is how the store of a broker that was killed is read again: its index is older than
// its messages, and nothing is missing.
func afterKill(text string) bool {
	return strings.HasPrefix(text, "Filestore [") &&
		(strings.HasSuffix(text, "] Stream state outdated, last block has additional entries, will rebuild") ||
			strings.HasSuffix(text, "] Recovering stream state from index errored: prior state file"))
}

func (l *logger) Errorf(format string, v ...any) {
	l.log.Error("broker", "message", fmt.Sprintf(format, v...))
}

func (l *logger) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.log.Error("broker", "message", text)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal != nil {
		return
	}
	l.fatal = fmt.Errorf("%s", text)
	if strings.Contains(text, syscall.EADDRINUSE.Error()) {
		l.fatal = fmt.Errorf("%s: %w", text, syscall.EADDRINUSE)
	}
}

func (l *logger) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}
