package charter_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
)

var rawURL = base64.RawURLEncoding

func TestTeamID(t *testing.T) {
	if got, want := charter.TeamID("UABC"), "3a8a3f9f2cce15527053cd9fbf6f87caa86da51bd8468a4cb8f19568f197c955"; got != want {
		t.Errorf("TeamID(UABC) = %s, want %s", got, want)
	}
}

// What is signed never changes: members of different age must agree on it.
func TestSignatureVectors(t *testing.T) {
	sig, err := charter.SignOrder(anna, "swarm.shop.dec.api.r1", []byte(`{"v":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := pub(anna) + "." + rawSign(t, anna, "swarm/order/v1\nswarm.shop.dec.api.r1\n"+`{"v":1}`); sig != want {
		t.Errorf("SignOrder = %s, want %s", sig, want)
	}
	s := signed(t, shop())
	if want := rawSign(t, owner, "swarm/charter/v1\n"+string(s.Payload)); s.Sig != want {
		t.Errorf("Sign = %s, want %s", s.Sig, want)
	}
	a, err := charter.SignAddition(enrol, shop(), teammate("web", stranger))
	if err != nil {
		t.Fatal(err)
	}
	if want := rawSign(t, enrol, "swarm/addition/v1\n"+string(a.Payload)); a.Sig != want {
		t.Errorf("SignAddition = %s, want %s", a.Sig, want)
	}
}

func TestOpen(t *testing.T) {
	want := shop()
	got, err := charter.Open(signed(t, want), pub(owner))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("Open(Sign(c)) = %+v, %v, want %+v", got, err, want)
	}
	if m, ok := got.Member("anna"); !ok || m.Key != pub(anna) {
		t.Errorf("Member(anna) = %+v, %v", m, ok)
	}
	if m, ok := got.ByKey(pub(api)); !ok || m.Name != "api" {
		t.Errorf("ByKey(api's) = %+v, %v", m, ok)
	}
	if m, ok := got.Member("mallory"); ok {
		t.Errorf("Member(mallory) = %+v", m)
	}
	if m, ok := got.ByKey(""); ok {
		t.Errorf("ByKey(nothing) = %+v", m)
	}
}

func TestOpenRefuses(t *testing.T) {
	good := signed(t, shop())
	text := string(good.Payload)
	edit := func(old, new string) charter.Signed {
		if !strings.Contains(text, old) {
			t.Fatalf("the charter has no %s", old)
		}
		return resign(t, owner, strings.Replace(text, old, new, 1))
	}
	for name, c := range map[string]struct {
		s    charter.Signed
		want error
	}{
		"empty":               {charter.Signed{}, charter.ErrBadSignature},
		"no signature":        {charter.Signed{Payload: good.Payload}, charter.ErrBadSignature},
		"altered":             {charter.Signed{Payload: []byte(strings.Replace(text, "anna", "bert", 1)), Sig: good.Sig}, charter.ErrBadSignature},
		"other owner":         {resign(t, stranger, text), charter.ErrBadSignature},
		"by a leader":         {resign(t, anna, text), charter.ErrBadSignature},
		"as an order":         {charter.Signed{Payload: good.Payload, Sig: rawSign(t, owner, "swarm/order/v1\n"+text)}, charter.ErrBadSignature},
		"bare":                {charter.Signed{Payload: good.Payload, Sig: rawSign(t, owner, text)}, charter.ErrBadSignature},
		"padded":              {charter.Signed{Payload: good.Payload, Sig: good.Sig + "=="}, charter.ErrBadSignature},
		"line end":            {charter.Signed{Payload: good.Payload, Sig: good.Sig + "\n"}, charter.ErrBadSignature},
		"other team":          {edit(`"teamId":"`+charter.TeamID(pub(owner)), `"teamId":"`+charter.TeamID(pub(anna))), charter.ErrBadCharter},
		"newer version":       {edit(`{"v":1,`, `{"v":2,"new":true,`), mailbox.ErrVersion},
		"no version":          {edit(`{"v":1,`, `{`), mailbox.ErrVersion},
		"unknown name":        {edit(`{"v":1,`, `{"v":1,"quorums":[],`), mailbox.ErrMalformed},
		"case-variant name":   {edit(`"members"`, `"Members"`), mailbox.ErrMalformed},
		"twice":               {edit(`"serial":1`, `"serial":9,"serial":1`), mailbox.ErrMalformed},
		"twice, by folding":   {edit(`"serial":1`, `"ſerial":9,"serial":1`), mailbox.ErrMalformed},
		"role twice":          {edit(`"role":"teammate"`, `"role":"teammate","role":"leader"`), mailbox.ErrMalformed},
		"trailing":            {resign(t, owner, text+"{}"), mailbox.ErrMalformed},
		"no JSON":             {resign(t, owner, "charter"), mailbox.ErrMalformed},
		"null":                {resign(t, owner, "null"), mailbox.ErrVersion},
		"serial 0":            {edit(`"serial":1`, `"serial":0`), charter.ErrBadCharter},
		"a key as a member's": {edit(pub(wall), pub(anna)), charter.ErrBadCharter},
	} {
		if got, err := charter.Open(c.s, pub(owner)); !errors.Is(err, c.want) || !reflect.DeepEqual(got, charter.Charter{}) {
			t.Errorf("%s: Open = %+v, %v, want %v", name, got, err, c.want)
		}
	}
	_, err := charter.Open(edit(`{"v":1,`, `{"v":2,`), pub(owner))
	if err == nil || !strings.Contains(err.Error(), "version 2") || !strings.Contains(err.Error(), "reads 1") {
		t.Errorf("Open(version 2) = %v, want both versions named", err)
	}
	for _, key := range []string{"", "U", pub(owner) + "\n", strings.ToLower(pub(owner)), " " + pub(owner)} {
		if _, err := charter.Open(good, key); !errors.Is(err, charter.ErrBadKey) {
			t.Errorf("Open(key %q) = %v, want %v", key, err, charter.ErrBadKey)
		}
	}
}

func TestSignRefuses(t *testing.T) {
	if _, err := charter.Sign(stranger, shop()); !errors.Is(err, charter.ErrBadCharter) {
		t.Errorf("Sign by another owner = %v, want %v", err, charter.ErrBadCharter)
	}
	c := shop()
	c.Serial = 0
	if _, err := charter.Sign(owner, c); !errors.Is(err, charter.ErrBadCharter) {
		t.Errorf("Sign(serial 0) = %v, want %v", err, charter.ErrBadCharter)
	}
	curve, err := nkeys.CreateCurveKeys()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := charter.Sign(curve, shop()); !errors.Is(err, charter.ErrBadKey) {
		t.Errorf("Sign by a key that cannot sign = %v, want %v", err, charter.ErrBadKey)
	}
	verifier, err := nkeys.FromPublicKey(pub(owner))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := charter.Sign(verifier, shop()); err == nil {
		t.Error("Sign without the private key = nil")
	}
}

func TestValidate(t *testing.T) {
	first := func(c *charter.Charter) *charter.Member { return &c.Members[0] }
	for name, c := range map[string]struct {
		change func(*charter.Charter)
		says   string
	}{
		"team":              {func(c *charter.Charter) { c.Team = "a.b" }, "team"},
		"team id":           {func(c *charter.Charter) { c.TeamID = "x" }, "teamId"},
		"name":              {func(c *charter.Charter) { first(c).Name = "Anna" }, "Anna"},
		"name lead":         {func(c *charter.Charter) { first(c).Name = "lead" }, "reserved"},
		"name all":          {func(c *charter.Charter) { first(c).Name = "all" }, "reserved"},
		"teammate policy":   {func(c *charter.Charter) { c.Members[4].Role = charter.RoleTeammate }, "reserved"},
		"two of a name":     {func(c *charter.Charter) { first(c).Name = "bob" }, "two members"},
		"two of a key":      {func(c *charter.Charter) { first(c).Key = pub(bob) }, "one key"},
		"no key":            {func(c *charter.Charter) { first(c).Key = "" }, "anna"},
		"seed as key":       {func(c *charter.Charter) { first(c).Key = "SUAI" }, "anna"},
		"key in lower case": {func(c *charter.Charter) { first(c).Key = strings.ToLower(pub(anna)) }, "anna"},
		"role":              {func(c *charter.Charter) { first(c).Role = "boss" }, "boss"},
		"no role":           {func(c *charter.Charter) { first(c).Role = "" }, "role"},
		"kind":              {func(c *charter.Charter) { first(c).Kind = "human" }, "human"},
		"assurance":         {func(c *charter.Charter) { first(c).Assurance = "good" }, "good"},
		"enrol key":         {func(c *charter.Charter) { c.EnrolKey = "x" }, "enrolKey"},
		"enrol key shared":  {func(c *charter.Charter) { c.EnrolKey = pub(anna) }, "anna"},
		"cap":               {func(c *charter.Charter) { c.Caps.Mode = "yolo" }, "caps.mode"},
		"no cap":            {func(c *charter.Charter) { c.Caps.Mode = "" }, "caps.mode"},
		"ttl":               {func(c *charter.Charter) { c.Caps.Grants.TTLSeconds = -1 }, "caps.grants"},
		"ttl overflows":     {func(c *charter.Charter) { c.Caps.Grants.TTLSeconds = 1 << 60 }, "caps.grants"},
		"uses":              {func(c *charter.Charter) { c.Caps.Grants.Uses = -1 }, "caps.grants"},
		"empty match":       {func(c *charter.Charter) { c.PersonOnly[0] = charter.Match{} }, "personOnly[0]"},
		"class":             {func(c *charter.Charter) { c.PersonOnly[0].Classes[0] = "publish" }, "publish"},
		"intent":            {func(c *charter.Charter) { c.PersonOnly[1].Intents[0] = "" }, "personOnly[1]"},
		"path":              {func(c *charter.Charter) { c.PersonOnly[2].Paths[0] = "a//b" }, "personOnly[2]"},
		"mode":              {func(c *charter.Charter) { c.PersonOnly[3].Mode = "yolo" }, "yolo"},
		"quorum match":      {func(c *charter.Charter) { c.Quorum[0].Match = charter.Match{} }, "quorum[0]"},
		"quorum of 0":       {func(c *charter.Charter) { c.Quorum[0].Need = 0 }, "quorum[0]"},
		"quorum too large":  {func(c *charter.Charter) { c.Quorum[0].Need = 4 }, "need 4 of 3"},
		"quorum of a crowd": {func(c *charter.Charter) { c.Quorum[1].Need = 65 }, "need 65"},
		"quorum's teammate": {func(c *charter.Charter) { c.Quorum[0].Of[0] = "api" }, "api"},
		"quorum's no name":  {func(c *charter.Charter) { c.Quorum[0].Of[0] = "Mallory!" }, "Mallory!"},
		"quorum's twin": {func(c *charter.Charter) {
			c.Quorum[0] = charter.Quorum{Match: charter.Match{Mode: permissions.ModePlan}, Need: 1, Of: []string{"anna", "anna"}}
		}, "twice"},
		"limit of a person": {func(c *charter.Charter) { c.AgentLimits[0].Name = "anna" }, "anna"},
		"limit of no name":  {func(c *charter.Charter) { c.AgentLimits[0].Name = "Mallory!" }, "Mallory!"},
		"weak rule's match": {func(c *charter.Charter) { c.Assurance = []charter.AssuranceRule{{Least: charter.Sealed}} }, "assurance[0]"},
		"weak rule's word": {func(c *charter.Charter) {
			c.Assurance = []charter.AssuranceRule{{Match: charter.Match{Intents: []string{"push"}}, Least: "good"}}
		}, "good"},
		"limited twice":  {func(c *charter.Charter) { c.AgentLimits = append(c.AgentLimits, c.AgentLimits[0]) }, "twice"},
		"limit of files": {func(c *charter.Charter) { c.AgentLimits[0].MaxFiles = -1 }, "maxFiles"},
		"limit's intent": {func(c *charter.Charter) { c.AgentLimits[0].Intents = []string{""} }, "no name"},
	} {
		ch := shop()
		c.change(&ch)
		if err := ch.Validate(); !errors.Is(err, charter.ErrBadCharter) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: Validate = %v, want it to name %s", name, err, c.says)
		}
	}
	c := shop()
	c.V = 3
	if err := c.Validate(); !errors.Is(err, mailbox.ErrVersion) {
		t.Errorf("Validate(version 3) = %v, want %v", err, mailbox.ErrVersion)
	}
}

func TestNewHasDefaults(t *testing.T) {
	c := charter.New("shop", pub(owner), []charter.Member{leader("anna", anna, charter.KindPerson)}, charter.Caps{}, "")
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if c.Caps.Mode != permissions.ModeAcceptEdits || !c.Caps.PlanRequired || c.Caps.Grants.TTL().Hours() != 24 {
		t.Errorf("caps = %+v, want acceptEdits, a plan required, 24 h", c.Caps)
	}
	for _, class := range []permissions.Class{permissions.ClassPublishes, permissions.ClassRootEquivalent, permissions.ClassTouchesData} {
		if !c.PersonOnly[0].Matches(charter.Asked{Classes: []permissions.Class{class}}) {
			t.Errorf("%q is not for persons only", class)
		}
	}
	c = charter.New("shop", pub(owner), nil, charter.Caps{Mode: permissions.ModeBypass}, "")
	if c.Caps.Mode != permissions.ModeBypass || c.Caps.PlanRequired {
		t.Errorf("caps = %+v, want what was said", c.Caps)
	}
}

func TestAdditions(t *testing.T) {
	s := signed(t, shop())
	c := shop()
	for i, kp := range []nkeys.KeyPair{pair('1'), pair('2')} {
		m := teammate(fmt.Sprintf("web%d", i), kp)
		a, err := charter.SignAddition(enrol, c, m)
		if err != nil {
			t.Fatal(err)
		}
		s.Additions = append(s.Additions, a, a) // one that is there already changes nothing
		if c, err = charter.Open(s, pub(owner)); err != nil {
			t.Fatal(err)
		}
		if got, ok := c.Member(m.Name); !ok || got != m || len(c.Members) != len(shop().Members)+i+1 {
			t.Fatalf("Open with %d additions: %s is %+v, %v, of %d members", len(s.Additions), m.Name, got, ok, len(c.Members))
		}
	}
	again, err := charter.SignAddition(enrol, c, teammate("api", api))
	if err != nil {
		t.Errorf("SignAddition of a member who is in it = %v", err)
	}
	s.Additions = append(s.Additions, again)
	if c, err := charter.Open(s, pub(owner)); err != nil || len(c.Members) != len(shop().Members)+2 {
		t.Errorf("Open = %d members, %v", len(c.Members), err)
	}
}

func TestAdditionsRefused(t *testing.T) {
	c := shop()
	web := teammate("web", stranger)
	member := func(change func(*charter.Member)) charter.Member {
		m := web
		change(&m)
		return m
	}
	add := func(kp nkeys.KeyPair, payload string) charter.Addition {
		return charter.Addition{Payload: []byte(payload), Sig: rawSign(t, kp, "swarm/addition/v1\n"+payload)}
	}
	added := func(kp nkeys.KeyPair, m charter.Member) charter.Addition {
		return add(kp, jsonOf(t, charter.AddedMember{V: 1, TeamID: c.TeamID, Serial: c.Serial, Member: m}))
	}
	good := jsonOf(t, charter.AddedMember{V: 1, TeamID: c.TeamID, Serial: c.Serial, Member: web})
	for name, tc := range map[string]struct {
		a    charter.Addition
		want error
	}{
		"leader":            {added(enrol, member(func(m *charter.Member) { m.Role = charter.RoleLeader })), charter.ErrBadCharter},
		"observer":          {added(enrol, member(func(m *charter.Member) { m.Role = charter.RoleObserver })), charter.ErrBadCharter},
		"existing leader":   {added(enrol, leader("anna", anna, charter.KindPerson)), charter.ErrBadCharter},
		"taken name":        {added(enrol, teammate("api", stranger)), charter.ErrBadCharter},
		"leader's name":     {added(enrol, teammate("anna", stranger)), charter.ErrBadCharter},
		"leader's key":      {added(enrol, teammate("web", anna)), charter.ErrBadCharter},
		"retired one's key": {added(enrol, teammate("web", gone)), charter.ErrBadCharter},
		"enrolment key":     {added(enrol, teammate("web", enrol)), charter.ErrBadCharter},
		"reserved name":     {added(enrol, teammate("policy", stranger)), charter.ErrBadCharter},
		"bad key":           {added(enrol, member(func(m *charter.Member) { m.Key = "U" })), charter.ErrBadCharter},
		"bad kind":          {added(enrol, member(func(m *charter.Member) { m.Kind = "x" })), charter.ErrBadCharter},
		"other end":         {added(enrol, member(func(m *charter.Member) { m.Name, m.Key, m.NotAfter = "api", pub(api), &later })), charter.ErrBadCharter},
		"other serial":      {add(enrol, strings.Replace(good, `"serial":1`, `"serial":2`, 1)), charter.ErrBadCharter},
		"other team":        {add(enrol, strings.Replace(good, c.TeamID, charter.TeamID("x"), 1)), charter.ErrBadCharter},
		"other version":     {add(enrol, strings.Replace(good, `"v":1`, `"v":2`, 1)), mailbox.ErrVersion},
		"role twice":        {add(enrol, strings.Replace(good, `"role":"teammate"`, `"role":"leader","role":"teammate"`, 1)), mailbox.ErrMalformed},
		"Role":              {add(enrol, strings.Replace(good, `"role"`, `"Role"`, 1)), mailbox.ErrMalformed},
		"trailing":          {add(enrol, good+"x"), mailbox.ErrMalformed},
		"by the owner":      {added(owner, web), charter.ErrBadSignature},
		"by a leader":       {added(anna, web), charter.ErrBadSignature},
		"by itself":         {added(stranger, web), charter.ErrBadSignature},
		"not signed":        {charter.Addition{Payload: []byte(good)}, charter.ErrBadSignature},
		"altered":           {charter.Addition{Payload: []byte(strings.Replace(good, "web", "wib", 1)), Sig: added(enrol, web).Sig}, charter.ErrBadSignature},
	} {
		s := signed(t, c)
		s.Additions = []charter.Addition{added(enrol, teammate("fine", pair('f'))), tc.a}
		got, err := charter.Open(s, pub(owner))
		if !errors.Is(err, tc.want) || !strings.Contains(fmt.Sprint(err), "addition 2") || !reflect.DeepEqual(got, charter.Charter{}) {
			t.Errorf("%s: Open = %d members, %v, want %v of addition 2", name, len(got.Members), err, tc.want)
		}
	}
	for name, m := range map[string]charter.Member{
		"leader": leader("boss", stranger, charter.KindPerson), "taken name": teammate("api", stranger), "taken key": teammate("web", api),
	} {
		if _, err := charter.SignAddition(enrol, c, m); !errors.Is(err, charter.ErrBadCharter) {
			t.Errorf("%s: SignAddition = %v, want %v", name, err, charter.ErrBadCharter)
		}
	}
	if _, err := charter.SignAddition(stranger, c, web); !errors.Is(err, charter.ErrBadKey) {
		t.Errorf("SignAddition by another key = %v, want %v", err, charter.ErrBadKey)
	}
	c.EnrolKey = ""
	if _, err := charter.SignAddition(enrol, c, web); !errors.Is(err, charter.ErrBadKey) {
		t.Errorf("SignAddition without an enrolment key = %v, want %v", err, charter.ErrBadKey)
	}
	s := signed(t, c)
	s.Additions = []charter.Addition{added(enrol, web)}
	if _, err := charter.Open(s, pub(owner)); !errors.Is(err, charter.ErrBadCharter) {
		t.Errorf("Open with additions and no enrolment key = %v, want %v", err, charter.ErrBadCharter)
	}
}

func TestSerials(t *testing.T) {
	for _, c := range []struct {
		seen, got uint64
		want      error
	}{{0, 1, nil}, {3, 3, nil}, {3, 4, nil}, {4, 3, charter.ErrOldCharter}, {1, 0, charter.ErrOldCharter}} {
		if err := charter.CheckSerial(c.seen, c.got); !errors.Is(err, c.want) {
			t.Errorf("CheckSerial(%d, %d) = %v, want %v", c.seen, c.got, err, c.want)
		}
	}
	first, second := shop(), shop()
	second.Serial = 2
	a, b := signed(t, first), signed(t, second)
	more := a
	more.Additions = make([]charter.Addition, 5)
	for _, c := range []struct {
		name string
		s, t charter.Signed
		want bool
	}{
		{"higher serial", b, a, true},
		{"lower serial", a, b, false},
		{"the same", a, a, false},
		{"more additions", more, a, true},
		{"serial before additions", b, more, true},
		{"fewer additions", a, more, false},
		{"nothing", charter.Signed{}, a, false},
	} {
		if got := c.s.Newer(c.t); got != c.want {
			t.Errorf("%s: Newer = %v, want %v", c.name, got, c.want)
		}
	}
	if got := b.Serial(); got != 2 {
		t.Errorf("Serial = %d, want 2", got)
	}
}

// No single change to a charter's payload or signature is accepted.
func TestOpenRefusesEveryMutation(t *testing.T) {
	good := signed(t, shop())
	rapid.Check(t, func(t *rapid.T) {
		s := charter.Signed{Payload: mutate(t, "payload", good.Payload), Sig: good.Sig}
		if rapid.Bool().Draw(t, "signature") {
			s = charter.Signed{Payload: good.Payload, Sig: string(mutate(t, "sig", []byte(good.Sig)))}
		}
		if _, err := charter.Open(s, pub(owner)); !errors.Is(err, charter.ErrBadSignature) {
			t.Fatalf("Open of a changed charter = %v, want %v", err, charter.ErrBadSignature)
		}
	})
}

// mutate returns data with something changed: a byte, a bit, cut, added, doubled or swapped.
func mutate(t *rapid.T, what string, data []byte) []byte {
	out := append([]byte{}, data...)
	i := rapid.IntRange(0, len(data)-1).Draw(t, what+" at")
	switch rapid.SampledFrom([]string{"set", "flip", "cut", "insert", "drop", "double", "fold"}).Draw(t, what+" how") {
	case "set":
		out[i] = rapid.Byte().Draw(t, "byte")
	case "flip":
		out[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	case "cut":
		out = out[:i]
	case "insert":
		out = append(out[:i:i], append([]byte{rapid.Byte().Draw(t, "byte")}, data[i:]...)...)
	case "drop":
		out = append(out[:i], data[i+1:]...)
	case "double":
		out = append(out, out[i:]...)
	case "fold":
		out = []byte(strings.ToUpper(string(out)))
	}
	if string(out) == string(data) {
		out = append(out, ' ')
	}
	return out
}

// FuzzOpen signs whatever it is given, so that it comes behind the signature: what is accepted is a charter of this team
// that its own encoding gives again.
func FuzzOpen(f *testing.F) {
	add, err := charter.SignAddition(enrol, shop(), teammate("web", stranger))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(signed(f, shop()).Payload, add.Payload)
	f.Add([]byte(`{"v":1,"serial":1,"serial":2}`), []byte(`{}`))
	f.Add(signed(f, shop()).Payload, []byte(nil))
	f.Fuzz(func(t *testing.T, payload, addition []byte) {
		s := charter.Signed{Payload: payload, Sig: rawSign(t, owner, "swarm/charter/v1\n"+string(payload))}
		if addition != nil {
			s.Additions = []charter.Addition{{Payload: addition, Sig: rawSign(t, enrol, "swarm/addition/v1\n"+string(addition))}}
		}
		if _, err := charter.Open(charter.Signed{Payload: payload, Sig: string(addition)}, pub(owner)); err == nil {
			t.Fatal("Open takes a charter without the owner's signature")
		}
		c, err := charter.Open(s, pub(owner))
		if err != nil {
			return
		}
		if err := c.Validate(); err != nil || c.TeamID != charter.TeamID(pub(owner)) {
			t.Fatalf("Open took %s: %v", payload, err)
		}
		var plain charter.Charter
		if err := json.Unmarshal(payload, &plain); err != nil {
			t.Fatalf("Open took %s: %v", payload, err)
		}
		for _, m := range c.Members {
			if _, ok := plain.Member(m.Name); !ok && m.Role != charter.RoleTeammate {
				t.Fatalf("an addition made %+v", m)
			}
		}
		again, err := charter.Sign(owner, c)
		if err != nil {
			t.Fatalf("Open took what cannot be signed: %v", err)
		}
		if back, err := charter.Open(again, pub(owner)); err != nil || jsonOf(t, back) != jsonOf(t, c) {
			t.Fatalf("Open took %s; again: %+v, %v", payload, back, err)
		}
	})
}
