package plandir

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/planswarm/swarm/plans"
)

// Store is one teammate's plan folder.
type Store struct {
	cfg   Config
	where atomic.Pointer[place] // the work folder and file
	plans *os.Root              // ours
	mu    sync.Mutex            // of what is stored
	index map[string][]location // of the contents that are stored, by digest; nil until it is needed

	live sync.Mutex // of work
	work *os.Root   // of the agent; nil until it is there
}

// Config adjusts a store. The zero Config is ready to use.
type Config struct {
	// Folder is where the working file lies: a folder inside Project, absolute or relative to it, that has nothing but plans
	// in it. It is made by [Store.Prepare]. Empty, and one that cannot be taken, is the store's own; see [Store.Warning].
	Folder string
	// Project is the absolute working tree.
	Project string
	// Protected says of a slash path inside the project that no folder of plans may be there, since what lies there takes
	// effect later. Nil means that only git's own folder is refused.
	Protected func(path string) bool
	// Session ends a name where every other one is taken. Empty is as good as any.
	Session string
	// Random is for names. Nil means crypto/rand.
	Random io.Reader
}

// nameFile, in the plans folder, remembers the working file's name.
const nameFile = "work.name"

// Open opens the store in dir, an absolute path, and makes what is missing: folders for the owner alone, and a name for
// the working file, which is kept from then on. The file itself is not made. Folders that others may write to are
// refused.
func Open(dir string) (*Store, error) { return OpenWith(dir, Config{}) }

// OpenWith is [Open] with a configuration.
func OpenWith(dir string, cfg Config) (*Store, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("plandir: folder %q is not an absolute path", dir)
	}
	dir = filepath.Clean(dir)
	whole, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	whole.Close()
	kept, err := openFolder(filepath.Join(dir, "plans"))
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, plans: kept}
	if err := s.place(dir); err != nil {
		s.Close()
		return nil, err
	}
	sweep(kept)
	for _, id := range names(kept, ".") {
		if sub, err := kept.OpenRoot(id); err == nil {
			sweep(sub)
			sub.Close()
		}
	}
	return s, nil
}

// place chooses the work folder, and the working file's name in it.
func (s *Store) place(dir string) error {
	work, warning := custom(s.cfg)
	own := work == ""
	if own {
		work = filepath.Join(dir, "work")
	}
	s.where.Store(&place{dir: work, warning: warning, own: own, root: dir})
	if own {
		root, err := s.folder(true)
		if err != nil {
			return err
		}
		sweep(root)
	}
	name, err := s.name()
	if err != nil {
		return err
	}
	s.rename(name)
	return nil
}

// rename has the working file be called name.
func (s *Store) rename(name string) {
	at := s.at()
	at.file = filepath.Join(at.dir, name)
	s.where.Store(&at)
}

func (s *Store) at() place { return *s.where.Load() }

// Warning says why a configured folder was not taken, in one line; "" when it was, or when there is none.
func (s *Store) Warning() string { return s.at().warning }

// Prepare makes the work folder. Whoever enters plan mode does, and goes on where it cannot be made: then there is no file
// to submit, and the error of that says why.
func (s *Store) Prepare() error {
	_, err := s.folder(true)
	return err
}

// openFolder makes a folder for the owner alone, or takes one that only the owner may change.
func openFolder(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("plandir: %w", err)
	}
	named, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("plandir: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("plandir: %w", err)
	}
	info, err := root.Stat(".")
	switch {
	case err != nil:
	case !os.SameFile(named, info):
		err = fmt.Errorf("folder %q is a link: replace it by a folder", dir)
	case openToOthers(info):
		err = fmt.Errorf("folder %q may be written to by others: chmod 700 it", dir)
	}
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("plandir: %w", err)
	}
	return root, nil
}

// Close gives the folders back. What is stored stays.
func (s *Store) Close() error {
	s.live.Lock()
	defer s.live.Unlock()
	err := s.plans.Close()
	if s.work != nil {
		err = errors.Join(err, s.work.Close())
	}
	return err
}

// WorkFile is the absolute path of the one file that may be written while planning. It need not exist.
func (s *Store) WorkFile() string { return s.at().file }

// Read reads the plan file of that name in the work folder; its full path will do, "" is the working file. The bytes are
// read once, from a regular file with no other name, and are valid ([plans.Check]); what the file becomes meanwhile or
// later is of no matter. Errors are one line for the agent, see [ErrOutside] and beside it.
func (s *Store) Read(name string) (plans.Plan, error) {
	name, err := s.Find(name)
	if err != nil {
		return plans.Plan{}, err
	}
	at := s.at()
	work, err := s.folder(false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return plans.Plan{}, at.missing(name)
	case err != nil:
		return plans.Plan{}, at.moved(reason(err))
	}
	return at.read(work, name)
}

// WriteWork makes content the working file, at once and whole. Bytes that are there, differ, and were never submitted
// are kept first, among the unsubmitted. Whatever else has the file's name (a folder, a link, a file that is too large)
// is moved aside in its folder.
func (s *Store) WriteWork(content []byte) error {
	if err := plans.Check(content); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.at()
	work, err := s.folder(true)
	if err != nil {
		return s.failed("write the working file", err)
	}
	name := filepath.Base(at.file)
	there, err := at.bytes(work, name)
	if err == nil && bytes.Equal(there, content) {
		return nil
	}
	keep := func() error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || len(there) > plans.MaxBytes:
			return work.Rename(name, name+".old-"+rand.Text()[:8])
		default:
			return s.keepUnsubmitted(there)
		}
	}
	if err := replace(work, name, content, 0o600, keep); err != nil {
		return s.failed("write the working file", err)
	}
	return nil
}

// Clear removes the working file; what was never submitted of it is kept first. It need not be there.
func (s *Store) Clear() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.at()
	work, err := s.folder(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return at.moved(reason(err))
	}
	name := filepath.Base(at.file)
	there, err := at.bytes(work, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil || len(there) > plans.MaxBytes:
		err = work.Rename(name, name+".old-"+rand.Text()[:8])
	default:
		if err = s.keepUnsubmitted(there); err == nil {
			err = work.Remove(name)
		}
	}
	if err != nil {
		return s.failed("clear the working file", err)
	}
	return syncDir(work)
}

// failed says that something could not be put on disk.
func (s *Store) failed(what string, cause error) error {
	return fmt.Errorf("plandir: %s: %w: nothing was changed; make room or rights in %q, then try again", what, reason(cause), s.at().root)
}
