package journal

import (
	"fmt"
	"os"
)

// write adds one line and takes it in. When it fails, the file is as it was before, or nothing is ever added again:
// after a failed fsync the kernel may have dropped the bytes and forgotten the error.
func (j *Journal) write(l line, sync bool) error {
	if j.broken != nil {
		return j.broken
	}
	raw, err := encode(l)
	if err != nil {
		return err
	}
	_, err = j.file.Write(raw)
	if err == nil && sync {
		err = j.file.Sync()
	}
	if err == nil {
		j.c.take(l, raw)
		return nil
	}
	err = fmt.Errorf("journal: write: %w: make room, then try again", err)
	if undo := j.cut(); undo != nil {
		j.broken = fmt.Errorf("%w (and its beginning could not be taken back: %w: start the runner again)", err, undo)
	}
	return err
}

// cut makes the file end after its last good line.
func (j *Journal) cut() error {
	if err := j.file.Truncate(j.c.size); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// rewriteIfLong replaces a long file by one snapshot line. Where that fails the old file goes on: nothing is lost, and the
// next line tries again.
func (j *Journal) rewriteIfLong() {
	if j.c.size-j.c.first <= j.cfg.RewriteAfter || j.c.size < j.quiet {
		return
	}
	if err := j.rewrite(); err != nil {
		j.quiet = j.c.size + j.cfg.RewriteAfter/4
		j.cfg.Logger.Warn("journal: not rewritten", "cause", err)
	}
}

// rewrite writes the new file whole, forces it to disk, and puts it in the old one's place.
func (j *Journal) rewrite() error {
	snap := line{V: Version, Seq: j.c.seq, At: j.c.at, Event: snapshotEvent, Session: &j.c.session, Open: j.c.open, Prev: j.c.prev}
	raw, err := encode(snap)
	if err != nil {
		return err
	}
	f, err := j.writeNew(raw)
	if err != nil {
		_ = j.root.Remove(newName) // what could not be finished is of no use
		return err
	}
	if err := j.root.Rename(newName, fileName); err != nil {
		return fmt.Errorf("journal: %w", closeAnd(f, err))
	}
	var c contents
	c.take(snap, raw)
	old := j.file
	j.file, j.c = f, c
	if err := j.syncFolder(); err != nil { // the old file may come back after a crash: later lines would be lost with it
		j.broken = err
		return err
	}
	return old.Close()
}

func (j *Journal) writeNew(raw []byte) (*os.File, error) {
	f, err := j.root.OpenFile(newName, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if _, err = f.Write(raw); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", closeAnd(f, err))
	}
	return f, nil
}

// syncFolder forces the folder's entries to disk.
func (j *Journal) syncFolder() error {
	d, err := j.root.Open(".")
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return closeAnd(d, syncDir(d))
}

func closeAnd(f *os.File, err error) error {
	if cerr := f.Close(); err == nil {
		return cerr
	}
	return err
}
