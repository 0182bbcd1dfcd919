//go:build !unix

package plandir_test

func runChild(string, string) int { return 3 }
