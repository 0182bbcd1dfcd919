//go:build !unix

package embednats

import (
	"errors"
	"os"
)

func lock(*os.File) error {
	return errors.New("this system cannot lock a file: the embedded broker runs on Unix")
}
