package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
)

// Who has no home in the environment gets no configuration out of a folder that another user, or a repository, can make.
func TestConfigurationWithoutAHome(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("TMPDIR", t.TempDir())
	t.Chdir(t.TempDir())
	for _, home := range []string{"", ".", "home"} {
		t.Setenv("HOME", home)
		dir := config.UserDir()
		if !filepath.IsAbs(dir) || strings.HasPrefix(dir, os.TempDir()) {
			t.Errorf("with HOME=%q the configuration is read from %s", home, dir)
		}
	}
}
