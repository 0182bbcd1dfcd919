package mailbox_test

import (
	"fmt"
	"time"

	"github.com/planswarm/swarm/mailbox"
)

func Example() {
	now := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	env, err := mailbox.New("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", mailbox.KindMessage, "shop", "api", mailbox.Lead, 3, now,
		mailbox.Message{Text: "the tests pass"})
	if err != nil {
		fmt.Println(err)
		return
	}
	data, _ := mailbox.Encode(env)
	fmt.Println(mailbox.MailSubject(env.Team, env.To, env.From, env.Kind))

	got, _ := mailbox.Decode(data)
	msg, _ := mailbox.Body[mailbox.Message](got)
	fmt.Println(got.From, "writes:", msg.Text)
	// Output:
	// swarm.shop.mb.lead.api.message
	// api writes: the tests pass
}

func ExampleDecodeStrict() {
	var order mailbox.ShutdownRequest
	fmt.Println(mailbox.DecodeStrict([]byte(`{"counter":1,"Counter":2}`), &order))
	// Output:
	// mailbox: malformed: "Counter": unknown name: write it "counter"
}
