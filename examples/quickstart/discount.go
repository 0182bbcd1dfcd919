// Package discount computes what a customer pays.
package discount

// Percent returns the price after taking off percent, in cents. The discount is rounded down.
// A percentage below 0 is 0, and one above 100 is 100.
func Percent(cents, percent int) int {
	percent = min(max(percent, 0), 100)
	return cents - cents/100*percent
}
