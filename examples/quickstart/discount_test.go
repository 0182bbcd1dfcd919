package discount

import "testing"

func TestPercent(t *testing.T) {
	for _, c := range []struct{ cents, percent, want int }{
		{1000, 10, 900},
		{1000, 0, 1000},
		{1000, 150, 0},
		{199, 50, 100}, // cents/100*percent loses the 99 cents
		{99, 10, 90},
	} {
		if got := Percent(c.cents, c.percent); got != c.want {
			t.Errorf("Percent(%d, %d) = %d, want %d", c.cents, c.percent, got, c.want)
		}
	}
}
