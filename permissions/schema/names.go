package schema

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Names of packages, each only as a registry has them: no address, no folder, no archive.
var (
	npmPackage      = regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*(@[\^~]?[A-Za-z0-9][A-Za-z0-9._-]*)?$`)
	pypiPackage     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,_-]+\])?((===?|~=|!=|>=|<=|>|<|@|\^)[A-Za-z0-9.*]+(,(==|~=|!=|>=|<=|>|<)[A-Za-z0-9.*]+)*)?$`)
	goModule        = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*(\.[a-z0-9-]+)+(/[A-Za-z0-9._~-]+)*(@[A-Za-z0-9][A-Za-z0-9.+_-]*)?$`)
	composerPackage = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._-]*(:[\^~]?[0-9][0-9.*]*)?$`)
	workspace       = regexp.MustCompile(`^(\./)?@?[A-Za-z0-9*][A-Za-z0-9._*-]*(/[A-Za-z0-9*][A-Za-z0-9._*-]*)*$`)
	repository      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`)
	endpoint        = regexp.MustCompile(`^/?([A-Za-z0-9{]|:(owner|repo|branch))([A-Za-z0-9/_.{}?=&,+-]|/:(owner|repo|branch))*$`)
	branchName      = regexp.MustCompile(`^[A-Za-z0-9_\p{Han}][A-Za-z0-9._/#\p{Han}-]*$`)
	image           = regexp.MustCompile(`^[a-z0-9][a-z0-9._/-]*(:[0-9]+/[a-z0-9._/-]+)?(:[A-Za-z0-9_][A-Za-z0-9._-]*)?$`)
	setting         = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*=[A-Za-z0-9_.,/:+-]*$`)
	listen          = regexp.MustCompile(`^((localhost|127\.0\.0\.1|\[::1\]):)?[0-9]{1,5}$`)
	ldflags         = regexp.MustCompile(`^(-s|-w|-X[ =][A-Za-z0-9_./-]+=[A-Za-z0-9_.+:/-]*)( (-s|-w|-X[ =][A-Za-z0-9_./-]+=[A-Za-z0-9_.+:/-]*))*$`)
	cmakeVar        = regexp.MustCompile(`^(CMAKE_(BUILD_TYPE|EXPORT_COMPILE_COMMANDS|C_STANDARD|CXX_STANDARD|UNITY_BUILD|VERBOSE_MAKEFILE)|BUILD_[A-Z0-9_]+|[A-Z0-9]+_BUILD_[A-Z0-9_]+|(ENABLE|WITH|USE)_[A-Z0-9_]+)(:(BOOL|STRING))?=(ON|OFF|TRUE|FALSE|YES|NO|[0-9]+|Debug|Release|RelWithDebInfo|MinSizeRel)$`)
	bazelLabel      = regexp.MustCompile(`^(//([A-Za-z0-9_.+=-]+(/[A-Za-z0-9_.+=-]+)*)?)?(:[A-Za-z0-9_.+=/-]+)?$`)
)

// sbtTest is a task of sbt that compiles or tests, in a project or not, and what testOnly is to find.
var sbtTest = regexp.MustCompile(`^\+?([A-Za-z0-9_-]+ *[/:] *)?((Test|IntegrationTest) */ *|(test|it):)?(test|testQuick|compile|clean|coverage|coverageReport|coverageOff|coverageAggregate|(testOnly|testQuick)( [A-Za-z0-9_.*$]+)*( -- [A-Za-z0-9_.*$ "'-]+)?)$`)

// isArchive reports whether a package manager would take the name for a file.
func isArchive(s string) bool {
	return slices.Contains([]string{".zip", ".whl", ".gz", ".tgz", ".tar", ".bz2", ".xz", ".tbz", ".tbz2", ".txz", ".tlz", ".lz", ".lzma", ".zst", ".tzst", ".crate", ".gem", ".nupkg", ".egg", ".txt", ".toml", ".py"}, strings.ToLower(path.Ext(s)))
}

// isBranch is a name of a branch that is no more than a name: no range, no other place to push to.
func isBranch(s string) bool {
	return len(s) <= 200 && branchName.MatchString(s) && !strings.Contains(s, "..") && !strings.HasSuffix(s, ".lock") && !strings.HasSuffix(s, "/")
}

// isCommit is a commit by its branch or number, counted back from there.
func isCommit(s string) bool {
	return isBranch(strings.TrimRight(s, "~^0123456789")) || isBranch(s)
}

// isScope is a workspace by its name or folder; pnpm and turbo write ... for those that it depends on, or that depend on it.
func isScope(s string) bool {
	s = strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(s, "!"), "..."), "..."), "^")
	return workspace.MatchString(strings.TrimSuffix(s, "^")) && !strings.Contains(s, "..")
}

// isLabel is a target of this Bazel workspace.
func isLabel(s string) bool {
	return bazelLabel.MatchString(s) && !slices.Contains(strings.Split(strings.NewReplacer(":", "/").Replace(s), "/"), "..")
}

// kubeTarget is a kind of resource, or one with a name: of none that holds secrets.
func kubeTarget(s string) bool {
	for part := range strings.SplitSeq(strings.ToLower(s), ",") {
		kind, _, _ := strings.Cut(part, "/")
		if strings.Contains(kind, "secret") && !strings.HasPrefix(kind, "secretstore") && !strings.HasPrefix(kind, "clustersecretstore") {
			return false
		}
	}
	return all(s, func(c byte) bool { return c == '/' || wordChar(c) }) && s[0] != '-'
}

// isKustom is an output format of kubectl that reads no file.
func isKustom(s string) bool {
	return isOneOf("json|yaml|wide|name", s) || strings.HasPrefix(s, "jsonpath=") || strings.HasPrefix(s, "custom-columns=") || strings.HasPrefix(s, "go-template=")
}

// isContext is a folder of an image's sources: docker takes other words for addresses.
func isContext(s string) bool {
	first, _, _ := strings.Cut(s, "/")
	return s == "." || s == ".." || first == "." || first == ".." || s != "" && all(first, func(c byte) bool { return c == '_' || c == '-' || digit(c) || letter(c) }) && s[0] != '-' && !strings.Contains(s, ":")
}

// isMade is a folder that builds, tests and tools make, and make again.
func isMade(s string) bool {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "./"), "/")
	return !slices.Contains(strings.Split(s, "/"), "..") && isOneOf(
		"build|dist|out|target|coverage|htmlcov|node_modules|_build|_output|.next|.nuxt|.output|.turbo|.parcel-cache|.svelte-kit|.angular|.cache|.pytest_cache|.mypy_cache|.ruff_cache|.tox|.nox|.nyc_output|.gradle|__pycache__|.eslintcache|coverage.out|.coverage", path.Base(s))
}

// binaryName is a program's own name, which no file of text usually has.
var binaryName = regexp.MustCompile(`^[a-z][a-z0-9]*([_-][a-z0-9]+)*$`).MatchString

// isOutput is a file that a build or a report may write: below a folder for what is made, or by a report's name.
func isOutput(kind, s string) bool {
	s = strings.TrimPrefix(s, "./")
	first, below, _ := strings.Cut(s, "/")
	switch {
	case s == "/dev/null":
		return true
	case slices.Contains(strings.Split(s, "/"), ".."), s == "", s[0] == '-', !all(s, func(c byte) bool { return c == '/' || nameChar(c) }):
		return false
	case kind == "makes" && isMade(s):
		return true
	case (kind == "outdir" || kind == "makes") && isOneOf("bin|build|dist|out|target|tmp|_build|_output|.build|coverage|htmlcov|site|_site|storybook-static", strings.TrimSuffix(s, "/")):
		return true
	case isOneOf("bin|build|dist|out|target|tmp|_build|_output|.build|.bin", first):
		return below != "" || strings.HasSuffix(s, "/")
	}
	return kind == "report" && (isOneOf("coverage|reports|test-results|htmlcov|artifacts", first) && below != "" || below == "" && reportName.MatchString(s) && !strings.Contains(s, "config"))
}

var reportName = regexp.MustCompile(`^(c|cov|cover|coverage|profile|junit|report|results?|test-results?|tests?|lint|eslint|bench|benchmark)([._-][A-Za-z0-9_-]+)*\.(out|txt|html|xml|json|cov|lcov|info|log|sarif|prof)$`)

// place is the file or folder in a value that says more.
func place(kind, s string) string {
	switch kind {
	case "nodeid":
		s, _, _ = strings.Cut(s, "::")
	case "line":
		if i := strings.IndexByte(s, ':'); i > 0 && all(s[i+1:], func(c byte) bool { return digit(c) || c == ':' }) {
			s = s[:i]
		}
	}
	return s
}
