package natsbox_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// asksToSign is who stands in a broker's place. Its nonce is what it would like to have signed; it returns what it got.
func asksToSign(t *testing.T, nonce string) (url string, sig <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	got := make(chan string, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			info, _ := json.Marshal(map[string]any{
				"server_id": "x", "version": "2.11.0", "proto": 1, "headers": true, "max_payload": 8 << 20, "auth_required": true, "nonce": nonce,
			})
			_, _ = c.Write([]byte("INFO " + string(info) + "\r\n"))
			line, _ := bufio.NewReader(c).ReadString('\n')
			var said struct{ Sig string }
			_ = json.Unmarshal([]byte(strings.TrimPrefix(line, "CONNECT ")), &said)
			got <- said.Sig
			_ = c.Close()
		}
	}()
	return "nats://" + l.Addr().String(), got
}

// The key that a leader connects with is the one that decides. Whoever stands in the broker's place has no bytes of its
// choice signed.
func TestAttackBrokerThatAsksForASignature(t *testing.T) {
	t.Parallel()
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	pub, _ := key.PublicKey()
	slot := mailbox.DecisionSubject("shop", "api", "r1")
	good := strings.Repeat("aB3_-", 3)
	for _, test := range []struct{ name, nonce string }{
		{"ask for an order as proof of the key", "swarm/order/v1\n" + slot + "\n" + `{"v":1,"kind":"plan_approval_response"}`},
		{"ask for an enrolment as proof of the key", "swarm/join/v1\n{}"},
		{"ask for a line as proof of the key", good + "\n"},
		{"ask for a login of ssh as proof of the key", "\x00\x00\x00\x20" + good},
		{"ask for a long one as proof of the key", strings.Repeat("a", 65)},
		{"a nonce", good},
	} {
		url, sigs := asksToSign(t, test.nonce)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		_, err := natsbox.Connect(ctx, natsbox.Config{URL: url, Team: "shop", Me: "anna", Key: key, Confirm: time.Minute})
		cancel()
		sig := ""
		select {
		case sig = <-sigs:
		case <-time.After(time.Minute):
		}
		if test.name == "a nonce" {
			if sig == "" {
				t.Errorf("a nonce was not signed: %v", err)
			}
			continue
		}
		if sig != "" {
			c := charter.Charter{Team: "shop", Members: []charter.Member{{Name: "anna", Role: charter.RoleLeader, Kind: charter.KindPerson, Key: pub, Assurance: charter.Sealed}}}
			if payload, ok := strings.CutPrefix(test.nonce, "swarm/order/v1\n"+slot+"\n"); ok {
				a := charter.Judge(c, charter.Order{Subject: slot, Payload: []byte(payload), Sigs: []string{pub + "." + sig}}, charter.Asked{}, true, time.Now())
				t.Errorf("%s: the broker has a decision of anna that counts: %+v", test.name, a)
			}
			t.Errorf("%s was signed for whoever stands in the broker's place", test.name)
			continue
		}
		if !errors.Is(err, natsbox.ErrForeignServer) {
			t.Errorf("%s: %v, want that it is no broker", test.name, err)
		}
		mailboxtest.Refused(t, test.name, "broker's operator", mailboxtest.ByMember, err.Error())
	}
}
