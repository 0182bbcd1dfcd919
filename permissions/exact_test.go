package permissions_test

import (
	"slices"
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// What a leader may grant is what the engine then lets pass, and nothing else is granted.
func TestExactCommand(t *testing.T) {
	for line, want := range map[string][]string{
		"make db":                   {"make", "db"},
		"make 'db' 2>&1":            {"make", "db"},
		"make db >/dev/null":        {"make", "db"},
		"timeout 5 make db":         {"timeout", "5", "make", "db"},
		"make db > x":               nil,
		"make db < x":               nil,
		"make db <<< x":             nil,
		"make db <<'E'\nx\nE":       nil,
		"NODE_ENV=production make":  nil,
		"CI=1 make db":              nil,
		"{ make db; } < x":          nil,
		"echo x | make db":          nil,
		"cd web && make db":         nil,
		"make $x":                   nil,
		"make *":                    nil,
		"for i in 1; do make; done": nil,
		"make db; ls":               nil,
		"":                          nil,
	} {
		argv, why := permissions.ExactCommand(line)
		if !slices.Equal(argv, want) || (why == "") != (want != nil) {
			t.Errorf("ExactCommand(%q) = %q, %q, want %q", line, argv, why, want)
		}
		if want == nil {
			continue
		}
		s, g := state(permissions.ModeDefault), grant("")
		g.Argv = argv
		s.Grants = []permissions.Grant{g}
		if d := decide(line, s); d.Verdict != permissions.Allow {
			t.Errorf("Decide(%q) under its own grant = %s (%s), want allow", line, d.Verdict, d.Reason)
		}
	}
}

// A shell whose program is only known when it runs is asked, however it gets it.
func TestShellFedIsAsked(t *testing.T) {
	for line, want := range map[string]permissions.Verdict{
		"bash < evil.sh":            maybe,
		"bash <<'E'\necho x\nE":     maybe,
		"bash <<< 'echo x'":         maybe,
		"timeout 5 bash < evil.sh":  maybe,
		"{ bash; } < evil.sh":       maybe,
		"cat evil.sh | bash":        maybe,
		"bash build.sh":             yes,
		"bash build.sh < /dev/null": yes,
	} {
		if d := decide(line, state(permissions.ModeBypass)); d.Verdict != want {
			t.Errorf("Decide(%q) = %s (%s), want %s", line, d.Verdict, d.Reason, want)
		}
	}
}

func TestStopIsALeadersVerb(t *testing.T) {
	for line, want := range map[string]permissions.Verdict{
		"swarm stop fixer":                      never,
		"xargs swarm stop":                      never,
		"python3 -c 'sh(\"swarm stop fixer\")'": never,
		"docker stop web":                       maybe,
		"docker stop swarm":                     maybe,
		"docker swarm stop":                     maybe,
		"systemctl stop swarm":                  maybe,
		"git commit -m 'swarm stop'":            maybe,
	} {
		if d := decide(line, state(permissions.ModeDefault)); d.Verdict != want {
			t.Errorf("Decide(%q) = %s (%s), want %s", line, d.Verdict, d.Reason, want)
		}
	}
}
