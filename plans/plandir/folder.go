package plandir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// folder is the work folder, held open. It is the folder that its path names now, and no link: one that was replaced is
// taken anew where it may be, so that what the agent writes and what is read are in the same place. With make, it is made
// when it is missing; otherwise that is fs.ErrNotExist.
func (s *Store) folder(make bool) (*os.Root, error) {
	s.live.Lock()
	defer s.live.Unlock()
	dir := s.at().dir
	named, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !make:
		return nil, fs.ErrNotExist
	case err == nil && s.work != nil:
		if own, err := s.work.Stat("."); err == nil && os.SameFile(named, own) {
			return s.work, nil
		}
	}
	if err := s.stillInside(dir); err != nil {
		return nil, err
	}
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	s.work = root // the one before may be in use: it is closed when nothing refers to it
	return root, nil
}

// stillInside reports a custom folder whose path leads out of the project now.
func (s *Store) stillInside(dir string) error {
	if s.at().own {
		return nil
	}
	_, err := insideProject(s.cfg, dir)
	return err
}

// custom is the configured work folder, or "" with the reason why it is not taken.
func custom(cfg Config) (dir, warning string) {
	if cfg.Folder == "" {
		return "", ""
	}
	refuse := func(why string) (string, string) {
		return "", fmt.Sprintf("plans folder %q is not taken: %s: plans are kept in swarm's own folder", cfg.Folder, why)
	}
	if !filepath.IsAbs(cfg.Project) {
		return refuse("there is no project that it could be inside of")
	}
	dir = cfg.Folder
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(cfg.Project, dir)
	}
	dir, err := insideProject(cfg, filepath.Clean(dir))
	if err != nil {
		return refuse(err.Error())
	}
	if why := notOnlyPlans(dir); why != "" {
		return refuse(why)
	}
	return dir, ""
}

// insideProject is the real path of a folder, which need not be there, inside the real project.
func insideProject(cfg Config, dir string) (string, error) {
	project, err := filepath.EvalSymlinks(cfg.Project)
	if err != nil {
		return "", fmt.Errorf("the project: %w", reason(err))
	}
	real, err := realPath(dir)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(project, real)
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return "", fmt.Errorf("%q is outside the project %q", real, project)
	case rel == ".":
		return "", fmt.Errorf("it is the project itself, of which nothing may be written while planning")
	}
	rel = filepath.ToSlash(rel)
	for _, part := range strings.Split(rel, "/") {
		if strings.EqualFold(part, ".git") {
			return "", fmt.Errorf("%q belongs to git", real)
		}
	}
	if cfg.Protected != nil && cfg.Protected(rel) {
		return "", fmt.Errorf("what lies in %q takes effect later, so that it is not written while planning", real)
	}
	return real, nil
}

// realPath follows links as far as there is something.
func realPath(path string) (string, error) {
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		switch {
		case err == nil:
			return filepath.Join(real, rest), nil
		case !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at):
			return "", reason(err)
		}
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("%q is a link to nothing", at)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// notOnlyPlans says what a folder has besides plans. Its whole content may be written while planning.
func notOnlyPlans(dir string) string {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return reason(err).Error()
	}
	for _, e := range list {
		if name := e.Name(); !e.Type().IsRegular() || !strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, tempPrefix) && !strings.Contains(name, ".md.old-") {
			return fmt.Sprintf("it has %q, and a plans folder has plans (*.md) only", name)
		}
	}
	return ""
}
