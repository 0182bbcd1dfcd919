package plandir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planswarm/swarm/plans"
)

// version of the files that describe a revision.
const version = 1

// unsubmitted is the folder of what was never submitted. No plan id is called so.
const unsubmitted = "unsubmitted"

// record describes a stored revision. It is written last: without it, there is no revision.
type record struct {
	V        int    `json:"v"`
	PlanID   string `json:"planId"`
	Revision int    `json:"revision"`
	plans.Ref
}

// Snapshot stores a plan's bytes as a revision, for ever. The same bytes again are the same revision; other bytes under
// its number are refused with [ErrTaken].
func (s *Store) Snapshot(planID string, revision int, p plans.Plan) (plans.Ref, error) {
	if err := errors.Join(checkID(planID, revision), plans.Check(p.Content)); err != nil {
		return plans.Ref{}, err
	}
	ref := plans.New(p.Name, p.Path, p.Content).Ref()
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, err := s.planFolder(planID)
	if err != nil {
		return plans.Ref{}, s.failed("keep a revision", err)
	}
	defer dir.Close()
	switch rec, err := readRecord(dir, planID, revision); {
	case err == nil && rec.Digest == ref.Digest:
		_, err := readContent(dir, rec)
		return rec.Ref, err
	case err == nil:
		return plans.Ref{}, fmt.Errorf("%w: plan %s, revision %d", ErrTaken, planID, revision)
	case !errors.Is(err, fs.ErrNotExist):
		return plans.Ref{}, err
	}
	if err := store(dir, record{V: version, PlanID: planID, Revision: revision, Ref: ref}, p.Content); err != nil {
		return plans.Ref{}, s.failed(fmt.Sprintf("keep revision %d", revision), err)
	}
	if s.index != nil {
		s.index[ref.Digest] = append(s.index[ref.Digest], location{planID, revision})
	}
	return ref, nil
}

// store writes the bytes, then the record. Bytes without a record are from a call that never returned.
func store(dir *os.Root, rec record, content []byte) error {
	data, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	name := fileName('r', rec.Revision)
	if !sameAs(dir, name+".md", content) {
		if err := dir.Remove(name + ".md"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := create(dir, name+".md", content, 0o400); err != nil {
			return err
		}
	}
	return create(dir, name+".json", append(data, '\n'), 0o400)
}

// location is where a content is stored.
type location struct {
	planID   string
	revision int
}

// Load returns the bytes of a stored revision with this content digest (hex SHA-256), or [ErrNotExist].
func (s *Store) Load(digest string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, err := s.load(digest)
	if err == nil || !errors.Is(err, ErrNotExist) {
		return content, err
	}
	s.index = nil // something may have been put there
	return s.load(digest)
}

func (s *Store) load(digest string) ([]byte, error) {
	damage := s.look()
	for _, at := range s.index[digest] {
		content, err := s.contentAt(at, digest)
		if err == nil {
			return content, nil
		}
		damage = errors.Join(damage, err)
	}
	if damage != nil {
		return nil, damage
	}
	return nil, fmt.Errorf("plandir: no revision with content %q: %w", digest, ErrNotExist)
}

func (s *Store) contentAt(at location, digest string) ([]byte, error) {
	dir, err := s.plans.OpenRoot(at.planID)
	if err != nil {
		return nil, fmt.Errorf("plandir: %w", err)
	}
	defer dir.Close()
	return readContent(dir, record{Revision: at.revision, Ref: plans.Ref{Digest: digest}})
}

// look makes the index of what is stored, once. What is damaged hides nothing else, and is not in it.
func (s *Store) look() error {
	if s.index != nil {
		return nil
	}
	s.index = map[string][]location{}
	var damage error
	for _, id := range s.planIDs() {
		damage = errors.Join(damage, s.lookIn(id))
	}
	return damage
}

func (s *Store) lookIn(id string) error {
	dir, err := s.plans.OpenRoot(id)
	if err != nil {
		return fmt.Errorf("plandir: %w", err)
	}
	defer dir.Close()
	var damage error
	for _, revision := range numbers(dir, 'r', ".json") {
		rec, err := readRecord(dir, id, revision)
		damage = errors.Join(damage, err)
		if err == nil {
			s.index[rec.Digest] = append(s.index[rec.Digest], location{id, revision})
		}
	}
	return damage
}

// LoadRevision returns a stored revision, or [ErrNotExist].
func (s *Store) LoadRevision(planID string, revision int) (plans.Plan, error) {
	if err := checkID(planID, revision); err != nil {
		return plans.Plan{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, err := s.plans.OpenRoot(planID)
	if err != nil {
		return plans.Plan{}, fmt.Errorf("plandir: plan %s: %w", planID, err)
	}
	defer dir.Close()
	rec, err := readRecord(dir, planID, revision)
	if err != nil {
		return plans.Plan{}, err
	}
	content, err := readContent(dir, rec)
	if err != nil {
		return plans.Plan{}, err
	}
	return plans.New(rec.Name, rec.Path, content), nil
}

// keepUnsubmitted stores bytes of the working file that no revision has.
func (s *Store) keepUnsubmitted(content []byte) error {
	if errors.Is(plans.Check(content), plans.ErrEmpty) {
		return nil
	}
	if _, err := s.load(plans.Digest(content)); err == nil {
		return nil
	}
	dir, err := s.planFolder(unsubmitted)
	if err != nil {
		return err
	}
	defer dir.Close()
	last := 0
	for _, n := range numbers(dir, 'u', ".md") {
		if sameAs(dir, fileName('u', n)+".md", content) {
			return nil
		}
		last = max(last, n)
	}
	return create(dir, fileName('u', last+1)+".md", content, 0o400)
}

// planFolder opens the folder of a plan, and makes it.
func (s *Store) planFolder(id string) (*os.Root, error) {
	switch err := s.plans.Mkdir(id, 0o700); {
	case err == nil:
		if err := syncDir(s.plans); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	return s.plans.OpenRoot(id)
}

// planIDs lists the plans that have a folder, the newest first: ids begin with their time.
func (s *Store) planIDs() []string {
	var ids []string
	for _, name := range names(s.plans, ".") {
		if checkID(name, 1) == nil {
			ids = append(ids, name)
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids
}

// readRecord reads what a revision is, or reports fs.ErrNotExist.
func readRecord(dir *os.Root, planID string, revision int) (record, error) {
	name := fileName('r', revision) + ".json"
	data, err := dir.ReadFile(name)
	if err != nil {
		return record{}, fmt.Errorf("plandir: plan %s, revision %d: %w", planID, revision, err)
	}
	var rec record
	if err := json.Unmarshal(data, &rec); err != nil {
		return record{}, fmt.Errorf("%w: %s: %w", ErrDamaged, filepath.Join(dir.Name(), name), err)
	}
	if rec.V > version {
		return record{}, fmt.Errorf("%w: %s has v %d, this one reads %d", ErrNewer, filepath.Join(dir.Name(), name), rec.V, version)
	}
	if rec.V != version || rec.PlanID != planID || rec.Revision != revision {
		return record{}, fmt.Errorf("%w: %s is about v %d, plan %q, revision %d", ErrDamaged, filepath.Join(dir.Name(), name), rec.V, rec.PlanID, rec.Revision)
	}
	return rec, nil
}

// readContent reads the bytes of a revision, which are what they were.
func readContent(dir *os.Root, rec record) ([]byte, error) {
	name := fileName('r', rec.Revision) + ".md"
	content, err := dir.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if got := plans.Digest(content); got != rec.Digest {
		return nil, fmt.Errorf("%w: %s has content %.12s, want %.12s", ErrDamaged, filepath.Join(dir.Name(), name), got, rec.Digest)
	}
	return content, nil
}

// fileName is the name of the n-th revision, without its ending: r0001.
func fileName(kind byte, n int) string { return fmt.Sprintf("%c%04d", kind, n) }

// numbers lists which revisions of a kind a folder has, in order.
func numbers(dir *os.Root, kind byte, ending string) []int {
	var list []int
	for _, name := range names(dir, ".") {
		var n int
		if stem, ok := strings.CutSuffix(name, ending); ok {
			if _, err := fmt.Sscanf(stem, string(kind)+"%d", &n); err == nil && fileName(kind, n) == stem {
				list = append(list, n)
			}
		}
	}
	slices.Sort(list)
	return list
}

// checkID refuses what cannot be the name of a plan's folder and file.
func checkID(id string, revision int) error {
	if id == "" || len(id) > 64 || id[0] == '-' || id == unsubmitted || revision < 1 || strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyz-") != "" {
		return fmt.Errorf("%w: %q, revision %d", ErrBadID, id, revision)
	}
	return nil
}
