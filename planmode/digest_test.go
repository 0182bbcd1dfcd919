package planmode_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

type vector struct {
	Name          string               `json:"name"`
	TeamID        string               `json:"teamId"`
	Teammate      string               `json:"teammate"`
	PlanID        string               `json:"planId"`
	Revision      int                  `json:"revision"`
	Content       []byte               `json:"content"`
	Prompts       []permissions.Prompt `json:"allowedPrompts"`
	Options       []plans.Option       `json:"options"`
	RequestedMode permissions.Mode     `json:"requestedMode"`
	Bytes         int                  `json:"bytes"`
	Digest        string               `json:"digest"`
}

func (v vector) input() planmode.DigestInput {
	return planmode.DigestInput{
		TeamID: v.TeamID, Teammate: v.Teammate, PlanID: v.PlanID, Revision: v.Revision, Content: v.Content,
		Prompts: v.Prompts, Options: v.Options, RequestedMode: v.RequestedMode,
	}
}

// preimage builds the bytes that are hashed by hand, field by field, as another implementation would.
func preimage(in planmode.DigestInput) []byte {
	fields := [][]byte{[]byte(in.TeamID), []byte(in.Teammate), []byte(in.PlanID), fmt.Appendf(nil, "%d", in.Revision), in.Content}
	fields = append(fields, fmt.Appendf(nil, "%d", len(in.Prompts)))
	for _, p := range in.Prompts {
		fields = append(fields, []byte(p.Tool), []byte(p.Prompt), []byte(p.Intent))
	}
	fields = append(fields, fmt.Appendf(nil, "%d", len(in.Options)))
	for _, o := range in.Options {
		recommended := "0"
		if o.Recommended {
			recommended = "1"
		}
		fields = append(fields, []byte(o.Label), []byte(o.Description), []byte(recommended))
	}
	fields = append(fields, []byte(in.RequestedMode))
	var b bytes.Buffer
	b.WriteString("swarm/plan/v1\n")
	for _, f := range fields {
		_ = binary.Write(&b, binary.BigEndian, uint32(len(f)))
		b.Write(f)
	}
	return b.Bytes()
}

func byHand(in planmode.DigestInput) string {
	sum := sha256.Sum256(preimage(in))
	return hex.EncodeToString(sum[:])
}

func TestDigestVectors(t *testing.T) {
	data, err := os.ReadFile("schema/digest.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		V       int      `json:"v"`
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if file.V != 1 || len(file.Vectors) < 8 {
		t.Fatalf("version %d with %d vectors, want version 1 with 8 or more", file.V, len(file.Vectors))
	}
	seen := map[string]string{}
	for _, v := range file.Vectors {
		if got := planmode.Digest(v.input()); got != v.Digest {
			t.Errorf("%s: Digest = %s, want %s", v.Name, got, v.Digest)
		}
		if got := preimage(v.input()); len(got) != v.Bytes || byHand(v.input()) != v.Digest {
			t.Errorf("%s: by hand %d bytes and %s, want %d and %s", v.Name, len(got), byHand(v.input()), v.Bytes, v.Digest)
		}
		if other, ok := seen[v.Digest]; ok {
			t.Errorf("%s and %s have one digest", v.Name, other)
		}
		seen[v.Digest] = v.Name
	}
}

// Whatever a leader sees of a request changes the digest.
func TestDigestCoversWhatIsShown(t *testing.T) {
	base := func() planmode.DigestInput {
		return planmode.DigestInput{
			TeamID: team, Teammate: mate, PlanID: "p1", Revision: 1, Content: planA,
			Prompts: []permissions.Prompt{tests, lint}, Options: ways, RequestedMode: permissions.ModeAuto,
		}
	}
	changes := map[string]func(*planmode.DigestInput){
		"team":     func(in *planmode.DigestInput) { in.TeamID += "0" },
		"teammate": func(in *planmode.DigestInput) { in.Teammate = "web" },
		"plan id":  func(in *planmode.DigestInput) { in.PlanID = "p2" },
		"revision": func(in *planmode.DigestInput) { in.Revision++ },
		"content":  func(in *planmode.DigestInput) { in.Content = append(bytes.Clone(planA), '\n') },
		"fewer":    func(in *planmode.DigestInput) { in.Prompts = in.Prompts[:1] },
		"intent": func(in *planmode.DigestInput) {
			in.Prompts = []permissions.Prompt{tests, {Tool: "Bash", Prompt: lint.Prompt}}
		},
		"options":     func(in *planmode.DigestInput) { in.Options = nil },
		"recommended": func(in *planmode.DigestInput) { in.Options = []plans.Option{{Label: "Cents"}, {Label: "Decimal"}} },
		"mode":        func(in *planmode.DigestInput) { in.RequestedMode = "" },
		"borders":     func(in *planmode.DigestInput) { in.Teammate, in.PlanID = "apip", "1" },
	}
	for name, change := range changes {
		in := base()
		change(&in)
		if planmode.Digest(in) == planmode.Digest(base()) {
			t.Errorf("another %s has the same digest", name)
		}
	}
}
