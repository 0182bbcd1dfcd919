package embednats_test

import (
	"context"
	"fmt"
	"os"

	"github.com/planswarm/swarm/mailbox/embednats"
)

func Example() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	srv, err := embednats.Start(context.Background(), embednats.Config{StoreDir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	fmt.Printf("port %q, store of %d GiB\n", srv.URL(), srv.MaxStore()>>30)
	// Output: port "", store of 8 GiB
}
