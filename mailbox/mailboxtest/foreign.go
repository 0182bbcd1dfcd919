package mailboxtest

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// PlainServer runs a nats-server as people install it, with JetStream and without our keys, and returns its address. Of o it
// takes what people add to that, such as a password.
func PlainServer(t testing.TB, o server.Options) string {
	t.Helper()
	o.Host, o.Port, o.NoSigs, o.NoLog, o.JetStream, o.StoreDir = "127.0.0.1", server.RANDOM_PORT, true, true, true, t.TempDir()
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("nats-server did not start")
	}
	return s.ClientURL()
}

// OtherServer greets as a nats-server of another version that asks for keys, answers a client so far that it is connected,
// and returns its address.
func OtherServer(t testing.TB, version string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintf(c, "INFO {\"server_name\":\"x\",\"version\":%q,\"nonce\":\"abc\",\"max_payload\":1048576,\"headers\":true,\"proto\":1}\r\n", version)
			buf := make([]byte, 4096)
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			for {
				n, err := c.Read(buf)
				if err != nil {
					break
				}
				if strings.Contains(string(buf[:n]), "PING") {
					fmt.Fprint(c, "PONG\r\n")
				}
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "nats://" + l.Addr().String()
}
