package permissions_test

import (
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// What lies on the disk makes a command ask: git's own configuration under a grant, a toolchain file beside a program
// that only answers, a runner file of a workspace below.
func TestWhatCommandsObey(t *testing.T) {
	execKeys := permissions.GitInfo{Repository: true, ExecKeys: []string{"core.fsmonitor"}}
	plain := permissions.GitInfo{Repository: true}
	for _, row := range []struct {
		name, command, grant string
		disk                 disk
		runners              []permissions.RunnerFile
		want                 permissions.Verdict
	}{
		{"a plain repository", "git add a.go", "commit", disk{git: plain}, nil, yes},
		{"a repository that runs programs", "git add a.go", "commit", disk{git: execKeys}, nil, maybe},
		{"and is pushed", "git push", "push", disk{git: execKeys}, nil, maybe},
		{"no toolchain file", "cargo tree", "", disk{git: plain}, nil, yes},
		{"a toolchain file", "cargo tree", "", disk{git: plain, digests: map[string]string{"/project/rust-toolchain.toml": "a"}}, nil, maybe},
		{"one above the folder", "cd a && cargo --version", "", disk{git: plain, digests: map[string]string{"/project/.cargo/config.toml": "a"}}, nil, maybe},
		{"a module as it was", "mvn test", "run tests", disk{git: plain, digests: map[string]string{"/project/api/pom.xml": "a"}}, []permissions.RunnerFile{{Path: "api/pom.xml", Digest: "a"}}, yes},
		{"a module that changed", "mvn test", "run tests", disk{git: plain, digests: map[string]string{"/project/api/pom.xml": "b"}}, []permissions.RunnerFile{{Path: "api/pom.xml", Digest: "a"}}, maybe},
		{"a planned one", "mvn test", "run tests", disk{git: plain, digests: map[string]string{"/project/api/pom.xml": "b"}}, []permissions.RunnerFile{{Path: "api/pom.xml", Digest: "a", Planned: true}}, yes},
		{"an interpreter of the system", ".venv/bin/python -m pytest", "run tests", disk{git: plain, links: map[string]string{"/project/.venv/bin/python": "/usr/bin/python3.12"}}, nil, yes},
		{"another program in its place", ".venv/bin/python -m pytest", "run tests", disk{git: plain, links: map[string]string{"/project/.venv/bin/python": "/usr/bin/rm"}}, nil, maybe},
		{"one of nobody knows where", ".venv/bin/python -m pytest", "run tests", disk{git: plain, links: map[string]string{"/project/.venv/bin/python": "/tmp/python3"}}, nil, maybe},
		{"a program that leads out", "./gradlew test", "run tests", disk{git: plain, links: map[string]string{"/project/gradlew": "/usr/bin/rm"}}, nil, maybe},
		{"an output that leads out", "go build -o bin/x .", "build", disk{git: plain, links: map[string]string{"/project/bin": "/usr/bin"}}, nil, maybe},
	} {
		s := state(permissions.ModeDefault)
		if row.grant != "" {
			g := grant(row.grant)
			g.Runners = row.runners
			s.Grants = []permissions.Grant{g}
		}
		d := permissions.New(permissions.Config{Resolver: row.disk}).Decide(permissions.Call{Tool: "Bash", Command: row.command, Cwd: "/project"}, s)
		if d.Verdict != row.want {
			t.Errorf("%s: Decide(%q) = %s (%s), want %s", row.name, row.command, d.Verdict, d.Reason, row.want)
		}
	}
}
