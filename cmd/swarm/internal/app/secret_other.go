//go:build !linux && !darwin

package app

import "context"

// askSecret asks a person for a secret. Where we cannot keep it from the screen, nobody is asked.
func askSecret(context.Context, string) ([]byte, error) { return nil, errNoTerminal }
