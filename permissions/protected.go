package permissions

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// protectedNames are the files and folders whose content takes effect later, outside this session: agents' settings and
// memory, swarm's own, git's, editors', and what continuous integration runs. A write to one of them, or below one,
// always asks. All lower case: names are compared without case, as some file systems do.
var protectedNames = []string{
	".git", ".gitmodules", ".gitattributes", ".gitconfig", ".githooks", ".husky", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".pre-commit-config.yaml",
	".claude", ".claude.json", "claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md", ".gemini", ".geminiignore", ".codex", ".agents",
	".qwen", "qwen.md", ".kimi", ".opencode", "opencode.json", "opencode.jsonc", ".cursor", ".cursorrules", ".windsurf", ".windsurfrules", ".clinerules", ".aider.conf.yml",
	".mcp.json", "mcp.json", ".swarm", "swarm.yaml", "swarm.yml", "policy.yaml", "policy.yml", "policy.toml", "policies",
	".envrc", ".vscode", ".idea", ".devcontainer", ".devcontainer.json",
	".github", ".gitlab-ci.yml", ".gitlab", ".circleci", "jenkinsfile", ".jenkins", "azure-pipelines.yml", ".azure-pipelines", ".travis.yml", ".drone.yml", ".drone.yaml",
	"bitbucket-pipelines.yml", ".buildkite", "appveyor.yml", ".appveyor.yml", ".woodpecker", ".woodpecker.yml", "cloudbuild.yaml", ".forgejo", ".gitea",
	".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml", ".pypirc", "pip.conf",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".inputrc", ".tool-versions", ".mise.toml", "mise.toml",
}

var protectedSet = set(protectedNames)

func set(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// ProtectedFiles returns the closed list of names whose writes always ask, in lower case.
func ProtectedFiles() []string { return slices.Clone(protectedNames) }

// ProtectedPath reports whether a slash path inside a working tree is one of [ProtectedFiles], or below one.
func ProtectedPath(p string) bool { return protectedPath(p) }

// isProtected reports whether s is on the list, by name or by where links lead. Inside the tree only the part below it
// counts: a tree may itself lie in such a folder.
func (v *view) isProtected(s spot) bool {
	return protectedPath(below(s.name, v.tree, v.realTree)) || s.real != s.name && protectedPath(below(s.real, v.tree, v.realTree))
}

// below is p relative to the first of roots that it is in, or p itself.
func below(p string, roots ...string) string {
	for _, r := range roots {
		if within(r, p) {
			return p[len(r):]
		}
	}
	return p
}

func protectedPath(p string) bool {
	for c := range strings.SplitSeq(strings.ToLower(p), "/") {
		if protectedSet[c] || strings.HasSuffix(c, ".policy.yaml") || strings.HasSuffix(c, ".policy.toml") {
			return true
		}
	}
	return false
}

// secretNames are names of files that hold credentials, wherever they lie, and secretPlaces are folders and files below
// a home directory.
var (
	secretNames = []string{
		".netrc", "_netrc", ".pgpass", ".my.cnf", ".git-credentials", ".npmrc", ".pypirc", ".htpasswd", ".vault-token", ".dockercfg",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "authorized_keys", ".ssh", ".aws", ".gnupg", ".kube", ".azure", ".password-store",
		"credentials.json", "service-account.json", "application_default_credentials.json", "owner.seed", "enrol.seed", "policy.seed", "kubeconfig",
	}
	secretSet     = set(secretNames)
	secretEndings = []string{".pem", ".key", ".p12", ".pfx", ".kdbx", ".jks", ".keystore", ".seed", ".bundle", ".nk", ".creds"}
	secretPlaces  = []string{
		".config/gh", ".config/hub", ".config/gcloud", ".config/op", ".config/git/credentials", ".config/doctl", ".config/rclone", ".config/sops", ".config/age",
		".docker/config.json", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d/credentials.tfrc.json", ".m2/settings.xml", ".gradle/gradle.properties",
		".local/share/keyrings", ".mozilla", ".config/google-chrome", ".config/chromium", "library/keychains", ".bash_history", ".zsh_history", ".python_history", ".node_repl_history",
		".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".config/nats", ".nsc", ".local/share/nats",
	}
	secretSystem = []string{"/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private", "/run/secrets", "/var/run/secrets", "/proc", "/dev/mem"}
)

// isSecret reports whether s is one of the usual places of credentials.
func (v *view) isSecret(s spot) bool {
	return v.secretPath(s.name) || s.real != s.name && v.secretPath(s.real)
}

func (v *view) secretPath(p string) bool {
	p = strings.ToLower(p)
	if p == "" {
		return false
	}
	for _, dir := range secretSystem {
		if within(dir, p) {
			return true
		}
	}
	if home := v.lowHome; home != p && within(home, p) && !within(v.lowTree, p) {
		below := strings.TrimPrefix(p[len(home):], "/")
		for _, place := range secretPlaces {
			if within(place, below) {
				return true
			}
		}
	}
	for c := range strings.SplitSeq(below(p, v.lowTree, v.lowReal), "/") {
		if secretName(c) {
			return true
		}
	}
	return false
}

// secretName reports whether a file of that name, in lower case, usually holds credentials. Examples and templates of
// an environment file do not.
func secretName(name string) bool {
	if name == ".env" || strings.HasPrefix(name, ".env.") {
		return !slices.Contains([]string{".example", ".sample", ".template", ".dist", ".defaults"}, path.Ext(name))
	}
	return secretSet[name] || name != "" && slices.Contains(secretEndings, path.Ext(name))
}

// picksSecrets reports whether a pattern of names, as git, find, grep and rg read it, is about files that usually hold
// credentials. One that stands for any name is not, and neither is one that leaves names out.
func picksSecrets(pattern string) bool {
	if strings.HasPrefix(pattern, "!") {
		return false
	}
	for p := range strings.SplitSeq(strings.ToLower(strings.ReplaceAll(pattern, "[!", "[^")), "/") {
		if !strings.ContainsAny(p, "*?[{\\") {
			if secretName(p) {
				return true
			}
			continue
		}
		for _, c := range braces(p) {
			if secretName(c) || strings.Trim(c, "*?[]^-\\") != "" && slices.ContainsFunc(samples(), func(n string) bool { ok, err := path.Match(c, n); return ok && err == nil }) {
				return true
			}
		}
	}
	return false
}

// samples are names that patterns are compared with. Those of documents are too common for it.
var samples = sync.OnceValue(func() []string {
	out := []string{".env", ".env.local"}
	for _, n := range secretNames {
		if path.Ext(n) != ".json" {
			out = append(out, n)
		}
	}
	for _, e := range secretEndings {
		out = append(out, "\x01"+e)
	}
	return out
})

// braces expands the first {a,b} of s, and those after it; what is beyond counts as one of any name.
func braces(s string) []string {
	from := strings.IndexByte(s, '{')
	to := strings.IndexByte(s, '}')
	if from < 0 || to < from {
		return []string{s}
	}
	if strings.Count(s, "{") > 4 || strings.Contains(s[from+1:to], "{") {
		return []string{s[:from] + "*", "*" + s[to+1:], ".env"}
	}
	var out []string
	for alt := range strings.SplitSeq(s[from+1:to], ",") {
		out = append(out, braces(s[:from]+alt+s[to+1:])...)
	}
	return out
}
