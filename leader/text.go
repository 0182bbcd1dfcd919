package leader

import (
	"fmt"
	"strings"
	"time"

	"github.com/planswarm/swarm/plans"
)

// pad is s cut or filled to exactly n cells.
func pad(s string, n int) string {
	s = plans.Cut(s, n)
	return s + strings.Repeat(" ", n-plans.Width(s))
}

// padLeft is s cut or filled from the left to exactly n cells.
func padLeft(s string, n int) string {
	s = plans.Cut(s, n)
	return strings.Repeat(" ", n-plans.Width(s)) + s
}

// dueIn says how far off a deadline is.
func dueIn(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return "in " + Age(d)
}

// Age is a duration as lists show it: 40s, 14m, 3h, 2d.
func Age(d time.Duration) string {
	switch {
	case d < time.Second:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// span is a grant's life as people write it: 2 h, 30 min, 90 s.
func span(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Minute:
		return fmt.Sprintf("%d min", d.Round(time.Minute)/time.Minute)
	default:
		return fmt.Sprintf("%d s", max(d, 0)/time.Second)
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
