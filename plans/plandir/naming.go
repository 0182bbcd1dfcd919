package plandir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

// nameTries is how many names are made up until one is free.
const nameTries = 20

// name is the working file's name: the one that was chosen before, or a new one.
func (s *Store) name() (string, error) {
	data, err := s.plans.ReadFile(nameFile)
	if err == nil {
		name := strings.TrimSpace(string(data))
		if !filepath.IsLocal(name) || filepath.Base(name) != name || !strings.HasSuffix(name, ".md") {
			return "", fmt.Errorf("%w: %s has %q", ErrDamaged, filepath.Join(s.plans.Name(), nameFile), name)
		}
		return name, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("plandir: %w", err)
	}
	return s.choose()
}

// choose makes a name up that no file has, and remembers it.
func (s *Store) choose() (string, error) {
	name, err := s.freeName()
	if err != nil {
		return "", fmt.Errorf("plandir: a name for the plan: %w", err)
	}
	if err := replace(s.plans, nameFile, []byte(name+"\n"), 0o600, func() error { return nil }); err != nil {
		return "", fmt.Errorf("plandir: %w", err)
	}
	return name, nil
}

func (s *Store) freeName() (string, error) {
	random := s.cfg.Random
	if random == nil {
		random = rand.Reader
	}
	name := ""
	for range nameTries {
		var b [3]byte
		if _, err := io.ReadFull(random, b[:]); err != nil {
			return "", err
		}
		if name = HeroName(b); !s.taken(name) {
			return name, nil
		}
	}
	end := s.cfg.Session
	if strings.Trim(strings.ToLower(end), "0123456789abcdefghijklmnopqrstuvwxyz-") != "" || end == "" {
		end = rand.Text()
	}
	return strings.TrimSuffix(name, ".md") + "-" + strings.ToLower(end)[:min(8, len(end))] + ".md", nil
}

// taken reports whether the work folder has something of this name. A folder that is not there has nothing.
func (s *Store) taken(name string) bool {
	work, err := s.folder(false)
	if err != nil {
		return false
	}
	_, err = work.Lstat(name)
	return err == nil
}

// Fresh has the working file be another one, with a new name. What the old one has stays where it is.
func (s *Store) Fresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, err := s.choose()
	if err != nil {
		return err
	}
	s.rename(name)
	return nil
}

// Forget has the name be forgotten: whoever opens the store next has another working file.
func (s *Store) Forget() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.plans.Remove(nameFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("plandir: %w", err)
	}
	return syncDir(s.plans)
}
