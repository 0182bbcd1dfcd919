package app

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/leader/policy"
	"github.com/planswarm/swarm/plans"
)

// examplesTrusted are the digests of the examples of this repository as they came with this program, a line for each:
// digest of the whole folder and name. A test writes it.
//
//go:embed trusted.txt
var examplesTrusted string

// maxTrusted is how large a file may be that is part of what is trusted.
const maxTrusted = 16 << 20

// Trust is what a folder's swarm.yaml would have this machine do, and the digest that stands for exactly that
// (invariant 15: a repository widens nothing by itself).
type Trust struct {
	Path    string   `json:"path"`   // of the document, absolute
	Digest  string   `json:"digest"` // hex SHA-256
	Runs    []string `json:"runs"`   // a line for each program
	Decides []string `json:"decides"`
	Trusted bool     `json:"trusted"`
}

// TrustOf says what a document would do, and whether the person has trusted exactly that.
func TrustOf(e Env) (Trust, error) {
	doc := e.Document
	t := Trust{Path: doc.Path, Runs: []string{}, Decides: []string{}}
	for _, m := range doc.Teammates {
		t.Runs = append(t.Runs, fmt.Sprintf("%s: %s (mode %s)", m.Name, plans.VisibleLine(strings.Join(m.Run, " ")), m.Mode))
	}
	for _, m := range doc.Teammates {
		if len(m.TrustMCP) > 0 {
			t.Decides = append(t.Decides, fmt.Sprintf("%s: what the MCP servers %s say of their tools is believed", m.Name, plans.VisibleLine(strings.Join(m.TrustMCP, ", "))))
		}
	}
	t.Decides = append(t.Decides, planningDecides("teammates", doc.Defaults)...)
	for _, m := range doc.Teammates {
		t.Decides = append(t.Decides, planningDecides(m.Name, m.Planning)...)
	}
	for _, r := range doc.Policy {
		if r.Then == policy.ThenApprove {
			t.Decides = append(t.Decides, plans.VisibleLine(r.Name)+": approves by itself")
		}
	}
	var err error
	if t.Digest, err = trustDigest(doc); err != nil {
		return t, err
	}
	known, err := e.trusted()
	t.Trusted = known[t.Path] == t.Digest || isExample(doc)
	return t, err
}

// planningDecides says what a document lets a teammate do before anything is approved.
func planningDecides(who string, p config.Planning) (lines []string) {
	if p.StartInPlan != nil && !*p.StartInPlan {
		lines = append(lines, who+": begins without plan mode")
	}
	if p.PlanFolder != "" {
		lines = append(lines, who+": while planning, files in "+plans.VisibleLine(p.PlanFolder)+" are written")
	}
	return lines
}

// isExample reports whether a document's folder is an example of this repository, to the last file: what its tests run
// counts too.
func isExample(doc *config.Document) bool {
	digest, err := folderDigest(filepath.Dir(doc.Path))
	return err == nil && filepath.Base(doc.Path) == config.FileName && strings.Contains(examplesTrusted, digest+" ")
}

// What an example may have; a larger folder is none.
const (
	maxExampleFiles = 256
	maxExampleBytes = 1 << 20
)

var errNoExample = errors.New("app: no example")

// folderDigest covers every file of a folder: its path, its bytes, and whether it can be executed.
func folderDigest(dir string) (string, error) {
	h := sha256.New()
	files, size := 0, int64(0)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if files, size = files+1, size+info.Size(); !info.Mode().IsRegular() || files > maxExampleFiles || size > maxExampleBytes {
			return errNoExample
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		fmt.Fprintf(h, "swarm/example/v1 %d %s %t %d\n", len(name), filepath.ToSlash(name), info.Mode()&0o111 != 0, len(data))
		h.Write(data)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// trustDigest covers the document's bytes and those of every file of the folder that its run lines name.
func trustDigest(doc *config.Document) (string, error) {
	h := sha256.New()
	dir := filepath.Dir(doc.Path)
	files := []string{filepath.Base(doc.Path)}
	for _, m := range doc.Teammates {
		for _, word := range m.Run {
			if info, err := os.Stat(filepath.Join(dir, word)); filepath.IsLocal(word) && err == nil && info.Mode().IsRegular() && !slices.Contains(files, word) {
				files = append(files, word)
			}
		}
	}
	slices.Sort(files[1:])
	for i, name := range files {
		data, err := readTrusted(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		if i == 0 {
			name = config.FileName // however it is called: another name changes nothing that it does
		}
		fmt.Fprintf(h, "swarm/trust/v1 %d %s %d\n", len(name), name, len(data))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func readTrusted(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxTrusted {
		return nil, fail(exitUsage, "too_large", fmt.Sprintf("%s has %d bytes, and at most %d can be trusted", path, info.Size(), maxTrusted), "run a smaller script")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fail(exitUsage, "config", fmt.Sprintf("%s cannot be read (%v)", path, errors.Unwrap(err)), "check its permissions")
	}
	return data, nil
}

func (e Env) trustFile() string { return filepath.Join(e.Settings.State, "trust.json") }

// trusted are the digests that this person has trusted, by document.
func (e Env) trusted() (map[string]string, error) {
	known := map[string]string{}
	data, err := os.ReadFile(e.trustFile())
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil {
		return nil, fail(exitError, "trust", fmt.Sprintf("%s cannot be read (%v): nothing is trusted", e.trustFile(), err), "remove it, and trust again")
	}
	return known, nil
}

// SetTrust stores that the person trusts a document as it is, or with false no more.
func SetTrust(e Env, t Trust, yes bool) error {
	if err := refuseTeammates(); err != nil {
		return err
	}
	known, err := e.trusted()
	if err != nil {
		return err
	}
	known[t.Path] = t.Digest
	if !yes {
		delete(known, t.Path)
	}
	if err := os.MkdirAll(e.Settings.State, 0o700); err != nil {
		return fail(exitError, "not_writable", fmt.Sprintf("the state folder cannot be made (%v)", err), "choose another with --state")
	}
	return writeJSON(e.trustFile(), known)
}

// checkTrust stops what nobody has trusted. Digest is that of --trust: what the person, or a CI job, has named.
func checkTrust(e Env, digest string) error {
	t, err := TrustOf(e)
	if err != nil || t.Trusted || digest == t.Digest {
		return err
	}
	message := "what " + filepath.Base(t.Path) + " would do is not trusted yet"
	if digest != "" {
		message = fmt.Sprintf("%s is not what --trust names (%s, and it is %s)", filepath.Base(t.Path), plans.Cut(plans.VisibleLine(digest), 20), t.Digest)
	}
	lines := ""
	for _, l := range append(slices.Clone(t.Runs), t.Decides...) {
		lines += "\n  " + l
	}
	return fail(exitAuth, "not_trusted", message, "read it, then: swarm trust "+filepath.Dir(t.Path)+"   (in CI: --trust "+t.Digest+")"+lines)
}
