package schema

import (
	"regexp"
	"strings"
)

// Values of programs that only read.

var (
	permission = regexp.MustCompile(`^[-/]?[0-7ugoarwxXst=+,-]{1,32}$`)
	awkAssign  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	gitSection = regexp.MustCompile(`^\^?(user|core|alias|remote|branch|init|pull|push|color|commit|diff|merge|rebase|submodule|tag|log|format|fetch|gpg|i18n|status|stash|rerere|help|advice|gc|pack|index|safe|clone|extensions|feature|merge-?tool|lfs|column|grep|blame|rebase|worktree|versionsort)([.\\]|\$?$)[A-Za-z0-9.*_/\\$-]*$`)
	goImport   = regexp.MustCompile(`^[a-z][A-Za-z0-9_-]*(\.[a-z0-9-]+)*(/[A-Za-z0-9._~-]+)*$`)
	// inspected is a template of docker inspect that prints states, addresses and mounts, and never the environment.
	inspected = regexp.MustCompile(`^([^{}]|\{\{ ?((json|len|println) )?\.(Id|Name|Created|Image|Platform|Driver|RestartCount|SizeRootFs|Size|Os|Architecture|RepoTags|RepoDigests|LogPath|Mounts|(State|NetworkSettings|GraphDriver|RootFS)(\.[A-Za-z]+)*|HostConfig(\.[A-Za-z]+)+|Config\.(Image|Cmd|Entrypoint|Labels|ExposedPorts|WorkingDir|User|Healthcheck|Hostname|Tty))( \|[ a-z]+)? ?\}\}|\{\{range \$?[a-z, $:=]*\.(NetworkSettings\.Networks|NetworkSettings\.Ports|Mounts|State\.Health\.Log)\}\}|\{\{\.(IPAddress|Gateway|Source|Destination|Type|Mode|Output|ExitCode)\}\}|\{\{end\}\})*$`)
	accepted  = regexp.MustCompile(`^(Accept: ?application/[A-Za-z0-9.+-]+|X-GitHub-Api-Version: ?[0-9-]+)$`)
)

// isGitKey is a name or a pattern of names in sections of git's configuration that hold no credentials.
func isGitKey(s string) bool {
	return gitSection.MatchString(s) && !containsAny(strings.ToLower(s), []string{"token", "passw", "secret", "header", "cookie", "credential"})
}

// isNamed is a path that a program takes for nothing else: no command, no file of options, no other machine.
func isNamed(s string) bool {
	return s == "-" || s != "" && strings.IndexByte("+@-", s[0]) < 0 && !strings.Contains(s, ":")
}

// isListed is what go list may be asked for beside folders of this tree: packages and modules by their import path.
func isListed(s string) bool {
	return goImport.MatchString(strings.TrimSuffix(s, "/...")) && !strings.Contains(s, "..") || strings.HasSuffix(s, "/...") && goImport.MatchString(strings.TrimSuffix(s, "/..."))
}

// isYQ is an expression of either yq that reads no other file and no environment.
func isYQ(s string) bool {
	return s != "" && s[0] != '-' && isJQ(s) && !containsAny(s, []string{"load", "env", "system", "eval", "input"})
}
