package charter_test

import (
	"fmt"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
)

// A lead agent signs, with its own valid key, what only a person may approve. The teammate finds out by itself.
func ExampleJudge() {
	c := charter.New("shop", pub(owner), []charter.Member{
		leader("anna", anna, charter.KindPerson), leader("helper", helper, charter.KindAgent), teammate("api", api),
	}, charter.Caps{}, "")

	subject, decision := "swarm.shop.dec.api."+request, []byte(`{"v":1}`)
	sig, _ := charter.SignOrder(helper, subject, decision)
	asked := charter.Asked{Intents: []string{"push"}, Classes: []permissions.Class{permissions.ClassPublishes}}
	who := charter.Judge(c, charter.Order{Subject: subject, Payload: decision, Sigs: []string{sig}}, asked, true, now)
	fmt.Println(who.Leader, who.NeedsPerson, who.Reason)
	// Output:
	// true true only a person may approve this
}

func Example() {
	c := charter.New("shop", pub(owner), []charter.Member{leader("anna", anna, charter.KindPerson)}, charter.Caps{}, pub(enrol))
	signed, _ := charter.Sign(owner, c)

	added, _ := charter.SignAddition(enrol, c, teammate("api", api))
	signed.Additions = append(signed.Additions, added)

	opened, err := charter.Open(signed, pub(owner))
	fmt.Println(len(opened.Members), opened.Caps.Mode, err)
	// Output:
	// 2 acceptEdits <nil>
}
