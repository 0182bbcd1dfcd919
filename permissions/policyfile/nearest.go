package policyfile

// maxDistance is how many characters a name may be away from one that is suggested for it.
const maxDistance = 3

// nearest is the name that somebody who wrote name may have meant, or "". In short names fewer characters may differ, since
// there they make another word.
func nearest(name string, among []string) string {
	best, least := "", min(maxDistance, (len(name)+1)/3)+1
	for _, other := range among {
		if len(name) > 64 || len(other) > 64 {
			continue
		}
		if d := distance(name, other); d < least {
			best, least = other, d
		}
	}
	return best
}

// distance is the number of bytes to change, add, drop or swap with their neighbour to make a into b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			rows[i][j] = min(change, rows[i][j-1]+1, rows[i-1][j]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// orNearest is what to do about a name that is not known: another one that is near, or else the general advice.
func orNearest(name string, among []string, advice string) string {
	if near := nearest(name, among); near != "" {
		return `did you mean "` + near + `"? ` + advice
	}
	return advice
}
