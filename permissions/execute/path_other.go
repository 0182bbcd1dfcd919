//go:build !unix

package execute

import "os"

// accounts is nothing here: who may write where is not looked at.
type accounts struct{}

func newAccounts() accounts { return accounts{} }

func (accounts) trust(dir string) bool {
	fi, err := os.Stat(dir)
	return err == nil && fi.IsDir()
}
