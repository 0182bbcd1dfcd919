package execute

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The hidden first arguments by which our binary knows what it was started as.
const (
	argReaper  = "__swarm-reaper"
	argConfine = "__swarm-confine"
)

// The descriptors that a reaper is started with; extra files follow.
const (
	fdControl = 3 + iota // read end: one byte is a signal for the target, the end of the stream kills everything
	fdReport             // write end: reports
	fdOrder              // an order, in memory
	fdDir                // the working directory
	fdExtra
)

// order is what the runner tells its reaper, and the reaper the confined stage. Arguments are bytes, because JSON strings
// would change what is not UTF-8.
type order struct {
	Program []byte
	Argv    [][]byte
	Env     [][]byte
	Extra   int // files from fdExtra on that belong to the target
	Confine *Confine
}

// report is what comes back: one when the target runs or cannot, one when all is over.
type report struct {
	Pid         int           `json:",omitempty"`
	ABI         int           `json:",omitempty"` // what a confinement is enforced with
	Open        []string      `json:",omitempty"` // what it could not close, besides what its ABI cannot
	Err         string        `json:",omitempty"`
	Errno       syscall.Errno `json:",omitempty"`
	NotConfined bool          `json:",omitempty"` // Err wraps ErrNotConfined
	Over        bool          `json:",omitempty"`
	Status      int           `json:",omitempty"`
	Killed      bool          `json:",omitempty"` // it ended because it was told to, not by itself
	Survivors   []int         `json:",omitempty"`
}

// err is the failure that a report carries, or nil.
func (r report) err() error {
	switch {
	case r.NotConfined:
		return fmt.Errorf("%w: %s", ErrNotConfined, r.Err)
	case r.Err != "":
		return &startError{r.Err, r.Errno}
	}
	return nil
}

// failed is a report of an error, with the number by which a caller knows it.
func failed(what string, err error) report {
	var errno syscall.Errno
	errors.As(err, &errno)
	return report{Err: fmt.Sprintf("%s: %v", what, err), Errno: errno}
}

// startError is an error that happened in another process.
type startError struct {
	text  string
	errno syscall.Errno
}

func (e *startError) Error() string { return "execute: " + e.text }

// Unwrap lets [errors.Is] know the missing file or permission.
func (e *startError) Unwrap() error {
	if e.errno == 0 {
		return nil
	}
	return e.errno
}

// memory puts an order into a file that has no name.
func (o order) memory() (*os.File, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("execute: write the order: %w", err)
	}
	fd, err := unix.MemfdCreate("swarm-order", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("execute: memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "order")
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, fmt.Errorf("execute: write the order: %w", err)
	}
	return f, nil
}

// readOrder reads an order from the start of fd. It leaves fd open and where it was: the next stage reads it again.
func readOrder(fd int) (o order, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return o, err
	}
	data := make([]byte, st.Size)
	for read := 0; read < len(data); {
		n, err := unix.Pread(fd, data[read:], int64(read))
		if err != nil {
			return o, err
		}
		if n == 0 {
			return o, io.ErrUnexpectedEOF
		}
		read += n
	}
	return o, json.Unmarshal(data, &o)
}

// send writes one report. Nobody listens when the runner is dead.
func (r report) send(w io.Writer) {
	_ = json.NewEncoder(w).Encode(r)
}

func bytesOf(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

func stringsOf(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}
