package charter_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
)

func TestOpenOrder(t *testing.T) {
	env, got, err := charter.OpenOrder[decision](shop(), valid(t))
	if err != nil || !reflect.DeepEqual(got, body()) || env.To != "api" || env.Kind != mailbox.KindPlanApprovalResponse {
		t.Errorf("OpenOrder = %+v, %+v, %v, want %+v", env, got, err, body())
	}
	stop := mailbox.ShutdownRequest{OrderHead: head("anna", charter.KindPerson), Counter: 7, Reason: "done"}
	o := order(t, mailbox.OrderSubject("shop", "api", "anna", mailbox.KindShutdownRequest), payload(t, mailbox.KindShutdownRequest, stop), anna)
	if _, got, err := charter.OpenOrder[mailbox.ShutdownRequest](shop(), o); err != nil || !reflect.DeepEqual(got, stop) {
		t.Errorf("OpenOrder(shutdown) = %+v, %v, want %+v", got, err, stop)
	}
	both := order(t, slot(), valid(t).Payload, api, bob, anna)
	if _, _, err := charter.OpenOrder[decision](shop(), both); err != nil {
		t.Errorf("OpenOrder(with an endorsement) = %v", err)
	}
}

// Whoever is no leader is told so, whatever they wrote: nothing of it is read.
func TestOpenOrderVerifiesFirst(t *testing.T) {
	for _, data := range []string{string(valid(t).Payload), "junk", "", `{"v":9}`, strings.Repeat("[", 1<<16)} {
		for name, by := range map[string][]nkeys.KeyPair{
			"nobody": nil, "teammate": {api}, "retired": {gone}, "stranger": {stranger}, "observer": {wall}, "owner": {owner},
		} {
			o := order(t, slot(), []byte(data), by...)
			if env, d, err := charter.OpenOrder[decision](shop(), o); !errors.Is(err, charter.ErrNotLeader) || env.ID != "" || d.Outcome != "" {
				t.Errorf("%s: OpenOrder(%.20s) = %+v, %v, want %v", name, data, d, err, charter.ErrNotLeader)
			}
		}
	}
	good := valid(t)
	for name, o := range map[string]charter.Order{
		"wrong subject": {Subject: mailbox.DecisionSubject("shop", "web", request), Payload: good.Payload, Sigs: good.Sigs},
		"altered byte":  {Subject: good.Subject, Payload: []byte(strings.Replace(string(good.Payload), "approved", "approveD", 1)), Sigs: good.Sigs},
		"cut elsewhere": {Subject: good.Subject + "\n{", Payload: []byte("}"), Sigs: order(t, good.Subject, []byte("{\n}"), anna).Sigs},
	} {
		if _, _, err := charter.OpenOrder[decision](shop(), o); !errors.Is(err, charter.ErrNotLeader) {
			t.Errorf("%s: OpenOrder = %v, want %v", name, err, charter.ErrNotLeader)
		}
	}
}

// What a leader signs and nobody can use is refused whole, by name.
func TestOpenOrderRefusesWhatIsSigned(t *testing.T) {
	good := string(valid(t).Payload)
	edit := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the order has no %s", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, c := range map[string]struct{ subject, payload, says string }{
		"outcome twice":        {slot(), edit(`"outcome":"approved"`, `"outcome":"rejected","outcome":"approved"`), "outcome"},
		"Outcome":              {slot(), edit(`"outcome":"approved"`, `"outcome":"rejected","Outcome":"approved"`), "Outcome"},
		"only Outcome":         {slot(), edit(`"outcome"`, `"Outcome"`), "Outcome"},
		"grantſ":               {slot(), edit(`"grants":`, `"grantſ":`), `"grants"`},
		"grantſ beside":        {slot(), edit(`"grants":`, `"grantſ":[],"grants":`), "body.grants"},
		"unknown name":         {slot(), edit(`"outcome"`, `"onlyIf":"x","outcome"`), "onlyIf"},
		"body twice":           {slot(), edit(`"body":`, `"body":{},"body":`), "body"},
		"Body":                 {slot(), edit(`"body":`, `"Body":{},"body":`), "Body"},
		"unknown in envelope":  {slot(), edit(`"v":1`, `"v":1,"ttl":1`), "ttl"},
		"trailing data":        {slot(), good + `{"outcome":"rejected"}`, "after top-level"},
		"trailing byte":        {slot(), good + "x", "after top-level"},
		"newer version":        {slot(), edit(`"v":1`, `"v":2`), "version 2"},
		"no version":           {slot(), edit(`"v":1,`, ``), "version"},
		"null outcome":         {slot(), edit(`"outcome":"approved"`, `"outcome":null`), "outcome"},
		"null body":            {slot(), edit(good[strings.Index(good, `"body":`):], `"body":null}`), "no body"},
		"junk":                 {slot(), "approved", "invalid character"},
		"empty":                {slot(), "", "unexpected end"},
		"other team's name":    {slot(), edit(`"team":"shop"`, `"team":"shop2"`), "shop2"},
		"other team's id":      {slot(), edit(charter.TeamID(pub(owner)), charter.TeamID(pub(bob))), "teamId"},
		"no team id":           {slot(), edit(`"teamId":"`+charter.TeamID(pub(owner))+`",`, ``), "teamId"},
		"other member":         {slot(), edit(`"to":"api"`, `"to":"web"`), "web"},
		"other request":        {slot(), edit(`"requestId":"`+request, `"requestId":"`+request[:len(request)-1]+"4"), "in the slot of"},
		"no request":           {slot(), edit(`"requestId":"`+request+`",`, ``), "in the slot of"},
		"other kind":           {slot(), edit(`"kind":"plan_approval_response"`, `"kind":"message"`), "message"},
		"an order as answer":   {slot(), edit(`"kind":"plan_approval_response"`, `"kind":"mode_set_request"`), "mode_set_request"},
		"another's name":       {slot(), edit(`"name":"anna"`, `"name":"bob"`), "did not sign"},
		"nobody's name":        {slot(), edit(`"name":"anna"`, `"name":""`), "did not sign"},
		"an agent as person":   {slot(), edit(`"kind":"person"`, `"kind":"policy"`), "policy"},
		"better assurance":     {slot(), edit(`"assurance":"plain"`, `"assurance":"confirm"`), "confirm"},
		"mail":                 {mailbox.MailSubject("shop", "api", "anna", mailbox.KindMessage), good, "no order"},
		"answer on ord":        {mailbox.OrderSubject("shop", "api", "anna", mailbox.KindPlanApprovalResponse), good, "no order"},
		"status":               {mailbox.StatusSubject("shop", "api"), good, ""},
		"no subject":           {"decisions", good, "none of ours"},
		"other team's subject": {mailbox.DecisionSubject("shop2", "api", request), edit(`"team":"shop"`, `"team":"shop2"`), "shop2"},
	} {
		env, d, err := charter.OpenOrder[decision](shop(), order(t, c.subject, []byte(c.payload), anna))
		if !errors.Is(err, charter.ErrBadOrder) || !strings.Contains(err.Error(), c.says) || env.ID != "" || !reflect.DeepEqual(d, decision{}) {
			t.Errorf("%s: OpenOrder = %+v, %v, want a bad order and %q", name, d, err, c.says)
		}
	}
}

func TestOpenOrderOnOrd(t *testing.T) {
	stop := mailbox.ShutdownRequest{OrderHead: head("anna", charter.KindPerson), Counter: 7}
	data := payload(t, mailbox.KindShutdownRequest, stop)
	for name, c := range map[string]struct {
		subject string
		data    []byte
		by      nkeys.KeyPair
		want    error
	}{
		"as it should be":    {mailbox.OrderSubject("shop", "api", "anna", mailbox.KindShutdownRequest), data, anna, nil},
		"of another leader":  {mailbox.OrderSubject("shop", "api", "bob", mailbox.KindShutdownRequest), data, anna, charter.ErrBadOrder},
		"as another kind":    {mailbox.OrderSubject("shop", "api", "anna", mailbox.KindGrantRevoked), data, anna, charter.ErrBadOrder},
		"to another":         {mailbox.OrderSubject("shop", "web", "anna", mailbox.KindShutdownRequest), data, anna, charter.ErrBadOrder},
		"in a decision slot": {slot(), data, anna, charter.ErrBadOrder},
		"by a teammate":      {mailbox.OrderSubject("shop", "api", "anna", mailbox.KindShutdownRequest), data, api, charter.ErrNotLeader},
		"in another's name":  {mailbox.OrderSubject("shop", "api", "anna", mailbox.KindShutdownRequest), data, bob, charter.ErrBadOrder},
	} {
		if _, _, err := charter.OpenOrder[mailbox.ShutdownRequest](shop(), order(t, c.subject, c.data, c.by)); !errors.Is(err, c.want) {
			t.Errorf("%s: OpenOrder = %v, want %v", name, err, c.want)
		}
	}
}

func TestSignOrderRefuses(t *testing.T) {
	if _, err := charter.SignOrder(anna, "a\nb", nil); !errors.Is(err, charter.ErrBadOrder) {
		t.Errorf("SignOrder(two lines) = %v, want %v", err, charter.ErrBadOrder)
	}
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := charter.SignOrder(account, slot(), nil); !errors.Is(err, charter.ErrBadKey) {
		t.Errorf("SignOrder by an account = %v, want %v", err, charter.ErrBadKey)
	}
	verifier, err := nkeys.FromPublicKey(pub(anna))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := charter.SignOrder(verifier, slot(), nil); err == nil {
		t.Error("SignOrder without the private key = nil")
	}
}

// No change to the subject, the payload or a signature of a valid order is accepted.
func TestNoMutationOfAnOrderIsAccepted(t *testing.T) {
	good, c := valid(t), shop()
	rapid.Check(t, func(t *rapid.T) {
		o := good
		switch rapid.SampledFrom([]string{"subject", "payload", "signature"}).Draw(t, "what") {
		case "subject":
			o.Subject = string(mutate(t, "subject", []byte(good.Subject)))
		case "payload":
			o.Payload = mutate(t, "payload", good.Payload)
		case "signature":
			o.Sigs = []string{string(mutate(t, "sig", []byte(good.Sigs[0])))}
		}
		if _, _, err := charter.OpenOrder[decision](c, o); !errors.Is(err, charter.ErrNotLeader) {
			t.Fatalf("OpenOrder of a changed order = %v, want %v", err, charter.ErrNotLeader)
		}
		if a := charter.Judge(c, o, charter.Asked{}, true, now); a.Leader {
			t.Fatalf("Judge of a changed order = %+v, want nobody", a)
		}
	})
}

// FuzzOpenOrder signs whatever it is given, so that it comes behind the signature: what is accepted says exactly one thing,
// and for the member and request whose slot it is in.
func FuzzOpenOrder(f *testing.F) {
	f.Add(slot(), valid(f).Payload)
	f.Add(slot(), []byte(strings.Replace(string(valid(f).Payload), `"outcome"`, `"Outcome":"x","outcome"`, 1)))
	f.Add(mailbox.OrderSubject("shop", "api", "anna", mailbox.KindShutdownRequest), valid(f).Payload)
	f.Add("a\nb", []byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		forged := charter.Order{Subject: subject, Payload: data, Sigs: []string{pub(anna) + "." + string(data), string(data)}}
		if _, _, err := charter.OpenOrder[decision](shop(), forged); !errors.Is(err, charter.ErrNotLeader) {
			t.Fatalf("OpenOrder without a signature = %v", err)
		}
		sig := pub(anna) + "." + rawSign(t, anna, "swarm/order/v1\n"+subject+"\n"+string(data))
		env, d, err := charter.OpenOrder[decision](shop(), charter.Order{Subject: subject, Payload: data, Sigs: []string{sig}})
		if err != nil {
			return
		}
		s, err := mailbox.ParseSubject(subject)
		if err != nil || env.V != 1 || env.Team != "shop" || env.To != s.To || d.TeamID != charter.TeamID(pub(owner)) || d.DecidedBy.Name != "anna" {
			t.Fatalf("OpenOrder took %s on %q: %v", data, subject, err)
		}
		if s.Branch == "dec" && d.RequestID != s.Request || s.Branch == "ord" && env.Kind != s.Kind {
			t.Fatalf("OpenOrder took %s on %q", data, subject)
		}
		var plain mailbox.Envelope
		var plainBody decision
		if json.Unmarshal(data, &plain) != nil || json.Unmarshal(plain.Body, &plainBody) != nil || jsonOf(t, plainBody) != jsonOf(t, d) {
			t.Fatalf("another reader takes %s for %+v, not %+v", data, plainBody, d)
		}
	})
}
