package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/coordinator"
	"github.com/planswarm/swarm/mailbox/embednats"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
)

// A team from nothing: a broker, a charter, a coordinator, and a teammate that joins and sends.
func Example() {
	if err := team(); err != nil {
		fmt.Println(err)
	}
	// Output: api joined under epoch 1, and its mail is stored in MB_shop
}

func team() (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	srv, err := embednats.Start(ctx, embednats.Config{StoreDir: dir})
	if err != nil {
		return err
	}
	defer srv.Close()

	owner, enrol, key := must(nkeys.CreateAccount()), must(nkeys.CreateUser()), must(nkeys.CreateUser())
	signed, err := charter.Sign(owner, charter.New("shop", text(owner), nil, charter.DefaultCaps(), text(enrol)))
	if err != nil {
		return err
	}
	co, err := coordinator.New(coordinator.Config{Server: srv, Team: "shop", OwnerKey: text(owner), Charter: signed, Enrol: enrol})
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- co.Run(ctx) }()
	defer func() { cancel(); err = errors.Join(err, ended(<-done)) }()
	<-co.Ready()

	if _, err := co.Enrol(ctx, "api", text(key), charter.KindAgent); err != nil {
		return err
	}
	api, err := natsbox.Connect(ctx, natsbox.Config{InProcess: srv, Team: "shop", Me: "api", Key: key})
	if err != nil {
		return err
	}
	defer api.Close()
	w, err := api.Join(ctx, natsbox.JoinRequest{Name: "api", Instance: "first", Mode: permissions.ModeDefault})
	if err != nil {
		return err
	}
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", "api", mailbox.Lead, w.Epoch, time.Now(), mailbox.Message{Text: "hello"})
	if err != nil {
		return err
	}
	stored, err := api.Send(ctx, e)
	if err != nil {
		return err
	}
	fmt.Printf("api joined under epoch %d, and its mail is stored in %s\n", w.Epoch, stored.Stream)
	return nil
}

func text(kp nkeys.KeyPair) string {
	pub, err := kp.PublicKey()
	if err != nil {
		panic(err)
	}
	return pub
}

// ended is the error of a Run that was not stopped in order.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
