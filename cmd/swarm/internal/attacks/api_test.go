package attacks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox/mailboxtest"
)

// request is an attempt to use the broker's own API. STREAM and CONSUMER are the attacked ones, and for the control those of a
// stream that nobody needs.
type request struct{ name, subject, data string }

var requests = []request{
	{"make a consumer", "CONSUMER.CREATE.STREAM.spy", `{"stream_name":"STREAM","config":{"name":"spy","ack_policy":"explicit"},"action":""}`},
	{"make a durable consumer", "CONSUMER.DURABLE.CREATE.STREAM.spy2", `{"stream_name":"STREAM","config":{"durable_name":"spy2","ack_policy":"explicit"}}`},
	{"make a consumer of one subject", "CONSUMER.CREATE.STREAM.spy3.swarm.shop.FILTER", `{"stream_name":"STREAM","config":{"name":"spy3","ack_policy":"none","filter_subject":"swarm.shop.FILTER"},"action":""}`},
	{"change a consumer", "CONSUMER.DURABLE.CREATE.STREAM.CONSUMER", `{"stream_name":"STREAM","config":{"durable_name":"CONSUMER","ack_policy":"explicit","description":"mine"},"action":"update"}`},
	{"list consumers", "CONSUMER.LIST.STREAM", ""},
	{"list consumers' names", "CONSUMER.NAMES.STREAM", ""},
	{"look at another's consumer", "CONSUMER.INFO.STREAM.CONSUMER", ""},
	{"pull another's mail", "CONSUMER.MSG.NEXT.STREAM.CONSUMER", `{"batch":1,"expires":1000000000}`},
	{"set another's consumer back", "CONSUMER.RESET.STREAM.CONSUMER", `{}`},
	{"pause a consumer", "CONSUMER.PAUSE.STREAM.CONSUMER", `{"pause_until":"2100-01-01T00:00:00Z"}`},
	{"delete a consumer", "CONSUMER.DELETE.STREAM.CONSUMER", ""},
	{"make a stream", "STREAM.CREATE.NEW_STREAM", `{"name":"NEW_STREAM","subjects":["new.STREAM"],"storage":"memory","retention":"limits"}`},
	{"mirror a stream", "STREAM.CREATE.MIRROR_STREAM", `{"name":"MIRROR_STREAM","storage":"memory","retention":"limits","mirror":{"name":"STREAM"}}`},
	{"list streams", "STREAM.LIST", ""},
	{"list streams' names", "STREAM.NAMES", ""},
	{"look at a stream", "STREAM.INFO.STREAM", ""},
	{"look at the account", "INFO", ""},
	{"read a stored message by its number", "STREAM.MSG.GET.STREAM", `{"seq":1}`},
	{"read a stored message directly", "DIRECT.GET.STREAM", `{"seq":1}`},
	{"read the last message of a subject", "DIRECT.GET.STREAM.swarm.shop.FILTER", ""},
	{"copy a stream out", "STREAM.SNAPSHOT.STREAM", `{"deliver_subject":"_INBOX_mine.snapshot"}`},
	{"put a stream in", "STREAM.RESTORE.RES_STREAM", `{"config":{"name":"RES_STREAM","subjects":["restored.STREAM"],"storage":"file","retention":"limits"},"state":{}}`},
	{"delete a stored message", "STREAM.MSG.DELETE.STREAM", `{"seq":1}`},
	{"change a stream", "STREAM.UPDATE.STREAM", `{"name":"STREAM","subjects":["swarm.shop.FILTER"],"storage":"file","retention":"limits","description":"mine"}`},
	{"purge a stream", "STREAM.PURGE.STREAM", ""},
	{"delete a stream", "STREAM.DELETE.STREAM", ""},
}

// on is the request about one stream and consumer. The API's own words stay.
func (q request) on(stream, consumer, filter string) (subject, data string) {
	names := strings.NewReplacer("STREAM", stream, "CONSUMER", consumer, "FILTER", filter)
	words := strings.Split(q.subject, ".")
	for i := 1; i < len(words); i++ {
		words[i] = names.Replace(words[i])
	}
	return strings.Join(words, "."), names.Replace(q.data)
}

// No member, whatever its role, reaches the broker's API with anything but the reading of its own consumers. The same request
// by the coordinator, about a stream that nobody needs, is answered.
func TestAttackBrokerAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scratch, err := w.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "SCRATCH", Subjects: []string{"swarm.shop.scratch.x"}, AllowDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scratch.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "reader", AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := w.js.Publish(t.Context(), "swarm.shop.scratch.x", nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range requests {
		t.Run(q.name, func(t *testing.T) {
			before := w.snapshot()
			for _, me := range anybody {
				w.refusedRequest(t, q, me, before)
			}
			subject, data := q.on("SCRATCH", "reader", "scratch.x")
			if answer, err := answered(w.root, &nats.Msg{Subject: "$JS.API." + subject, Data: []byte(data)}); err != nil {
				t.Errorf("the coordinator on %s: %v %s", subject, err, answer)
			}
		})
	}
}

// refusedRequest asks the broker for something, about mail and decisions, by both names of its API, and wants each refused, no
// answer, and an unchanged store.
func (w *world) refusedRequest(t *testing.T, q request, me, before string) {
	t.Helper()
	nc, why := w.peer(me), ""
	inbox, err := nc.SubscribeSync(w.fill("_INBOX_{me}.api", me))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inbox.Unsubscribe() }()
	for _, stream := range [][2]string{{"MB_shop", "mb.other.anna.message"}, {"DEC_shop", "dec.other.r"}} {
		subject, data := q.on(stream[0], w.fill("{theirs}", me), stream[1])
		for _, prefix := range []string{"$JS.API.", "JS.swarm."} {
			if roles[me] != "teammate" && prefix+subject == "JS.swarm.DIRECT.GET.DEC_shop.swarm.shop.dec.other.r" && me != "guest" {
				continue // leaders and observers read decisions
			}
			if err := nc.PublishRequest(prefix+subject, inbox.Subject, []byte(data)); err != nil {
				t.Fatal(err)
			}
			if err := nc.Flush(); err != nil {
				t.Fatal(err)
			}
			if why = violation(nc, prefix+subject); why == "" {
				t.Errorf("%s: %s is not refused %s", q.name, me, prefix+subject)
			}
		}
	}
	settle(t, nc)
	if m, err := inbox.NextMsg(time.Millisecond); err == nil {
		t.Errorf("%s: the broker answers %s with %.100q", q.name, me, m.Data)
	}
	w.unchanged(t, before)
	mailboxtest.Refused(t, q.name, roles[me], mailboxtest.ByPermissions, why)
}
