//go:build !linux

package app

// kernel says that this system has none of what confinement rests on.
func (d *doctor) kernel() {
	d.add("kernel", StateWarn, "plan mode is NOT ENFORCED by this system's kernel, and no command of a teammate is run", "run teammates on Linux; leading works here")
}
