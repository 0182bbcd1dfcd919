package natsbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/planswarm/swarm/mailbox/certs"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
)

// publicAuthority is a folder with an authority that this process believes, as those of the system: roots are read once.
var publicAuthority string

func TestMain(m *testing.M) {
	var err error
	if publicAuthority, err = os.MkdirTemp("", "authority"); err == nil {
		_, err = certs.Own(publicAuthority, "public", []string{"127.0.0.2"}, time.Now)
	}
	if err == nil {
		err = os.Setenv("SSL_CERT_FILE", filepath.Join(publicAuthority, "broker-ca.pem"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(mailboxtest.Settled(m), goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(publicAuthority)
		os.Exit(code)
	}))
}
