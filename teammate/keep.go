package teammate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// keep is a folder of small files of our own: each is replaced whole, and is on disk when put returns. The zero keep
// keeps nothing.
type keep struct{ root *os.Root }

func openKeep(dir string) (keep, error) {
	if dir == "" {
		return keep{}, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return keep{}, fmt.Errorf("teammate: state folder: %w", err)
	}
	return keep{root}, nil
}

func (k keep) close() error {
	if k.root == nil {
		return nil
	}
	return k.root.Close()
}

// sub is a folder inside, made where there is none.
func (k keep) sub(name string) (keep, error) {
	if k.root == nil {
		return k, nil
	}
	if err := k.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return keep{}, fmt.Errorf("teammate: state folder: %w", err)
	}
	root, err := k.root.OpenRoot(name)
	if err != nil {
		return keep{}, fmt.Errorf("teammate: state folder: %w", err)
	}
	return keep{root}, nil
}

func (k keep) put(name string, v any) error {
	if k.root == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("teammate: keep %s: %w", name, err)
	}
	return k.putBytes(name, data)
}

func (k keep) putBytes(name string, data []byte) error {
	if k.root == nil {
		return nil
	}
	f, err := k.root.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("teammate: keep %s: %w", name, err)
	}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = k.root.Remove(name + ".new")
		return fmt.Errorf("teammate: keep %s: %w: make room, then try again", name, err)
	}
	if err := k.root.Rename(name+".new", name); err != nil {
		return fmt.Errorf("teammate: keep %s: %w", name, err)
	}
	return k.sync()
}

func (k keep) sync() error {
	d, err := k.root.Open(".")
	if err != nil {
		return fmt.Errorf("teammate: state folder: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}

// get reads a file into v. What is not there leaves v as it is.
func (k keep) get(name string, v any) error {
	if k.root == nil {
		return nil
	}
	data, err := k.root.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("teammate: read %s: %w", name, err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("teammate: read %s: %w", name, err)
	}
	return nil
}

func (k keep) remove(name string) error {
	if k.root == nil {
		return nil
	}
	return k.root.Remove(name)
}

// names lists the files, sorted.
func (k keep) names() ([]string, error) {
	if k.root == nil {
		return nil, nil
	}
	entries, err := fs.ReadDir(k.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("teammate: state folder: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasSuffix(e.Name(), ".new") { // that was being written
			names = append(names, e.Name())
		}
	}
	return names, nil
}
