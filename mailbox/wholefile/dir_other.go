//go:build !unix

package wholefile

// SyncDir makes what was renamed in a folder last. Here folders cannot be synced.
func SyncDir(string) error { return nil }
