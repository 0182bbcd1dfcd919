package app

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/mailbox/mailboxtest"
)

// A sealed key opens with its secret and with nothing else; a changed file is refused, whatever was changed.
func TestAttackSealedKey(t *testing.T) {
	kp, seed, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	good, err := seal(kp, []byte("a long passphrase"), codeN)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), seed) {
		t.Error("the seed lies in it")
	}
	if got, err := good.open([]byte("a long passphrase")); err != nil || publicKey(got) != publicKey(kp) {
		t.Errorf("its own secret: %v", err)
	}
	for _, wrong := range []string{"", "a long passphrasE", "a long passphrase "} {
		if _, err := good.open([]byte(wrong)); !errors.Is(err, errWrongSecret) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	for name, change := range map[string]func(*sealedKey){
		"another key": func(s *sealedKey) { s.Key = "UAAA" }, "no key": func(s *sealedKey) { s.Key = "" }, "no kdf": func(s *sealedKey) { s.KDF = "none" },
		"another cost": func(s *sealedKey) { s.N *= 2 }, "no cost": func(s *sealedKey) { s.N = 0 }, "a huge cost": func(s *sealedKey) { s.N = 1 << 40 }, "huge blocks": func(s *sealedKey) { s.R = 1 << 20 },
		"a short nonce": func(s *sealedKey) { s.Nonce = s.Nonce[:1] }, "no salt": func(s *sealedKey) { s.Salt = nil }, "no box": func(s *sealedKey) { s.Box = nil },
		"a cut box": func(s *sealedKey) { s.Box = s.Box[1:] }, "a changed box": func(s *sealedKey) { s.Box = append([]byte{}, s.Box...); s.Box[20] ^= 1 },
	} {
		s := good
		change(&s)
		if _, err := s.open([]byte("a long passphrase")); err == nil {
			t.Errorf("%s: opened", name)
		}
		mailboxtest.Refused(t, "a sealed key with "+name, "nobody", mailboxtest.BySeal, "it does not open")
	}
}

func TestRecoveryCodeInAnySpelling(t *testing.T) {
	code := newCode()
	if n := len(codeLetters([]byte(code))); n != 32 {
		t.Errorf("%q has %d characters that count, want 32", code, n)
	}
	for _, spelling := range []string{strings.ToUpper(code), strings.ReplaceAll(code, "-", " "), strings.ReplaceAll(code, "0", "O"), strings.ReplaceAll(code, "1", "l")} {
		if string(codeLetters([]byte(spelling))) != string(codeLetters([]byte(code))) {
			t.Errorf("%q is not %q", spelling, code)
		}
	}
}

// Whatever lies in an address file, it is an address, or an error that says what to do.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{`{"v":1,"url":"nats://127.0.0.1:1","pid":1,"startTicks":1}`, `{"v":2}`, `{"v":"1"}`, `[]`, `null`, `{"pid":-1}`, `{"pid":1e99}`, "", "\x00"} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	s := state{dir: dir}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, "up.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := s.address("t")
		if err == nil && (a.PID <= 0 || !alive(a.PID, a.StartTicks)) {
			t.Errorf("%q is an address", data)
		}
		if err != nil && !strings.Contains(err.Error(), "up.json") && !strings.Contains(err.Error(), "swarm up") {
			t.Errorf("%q: %v says nothing", data, err)
		}
	})
}
