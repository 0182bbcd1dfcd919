package plandir_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/planswarm/swarm/plans/plandir"
)

func Example() {
	dir, err := os.MkdirTemp("", "plans")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := plandir.Open(filepath.Join(dir, "api"))
	if err != nil {
		panic(err)
	}
	defer store.Close()

	os.WriteFile(store.WorkFile(), []byte("# Fix rounding\n"), 0o600) // the agent
	plan, err := store.Read("")
	if err != nil {
		panic(err)
	}
	ref, err := store.Snapshot("0190f1c2-0000-7000-8000-000000000001", 1, plan)
	if err != nil {
		panic(err)
	}
	content, err := store.Load(ref.Digest)
	fmt.Printf("%s %q %v\n", ref.Title, content, err)
	// Output: Fix rounding "# Fix rounding\n" <nil>
}
