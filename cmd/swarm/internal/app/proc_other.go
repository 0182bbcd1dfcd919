//go:build !linux

package app

import "os"

func startTicks(int) uint64 { return 0 }

// alive cannot tell here whether a pid was used again: the lock of the state folder is what keeps two apart.
func alive(pid int, _ uint64) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p != nil
}

// insideTeammate has only the environment to go by here (see refuseTeammates).
func insideTeammate(int) bool { return false }
