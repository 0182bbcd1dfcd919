// Package embednats runs the team's broker inside this process: a NATS server with JetStream on files.
//
// What it acknowledges is on disk (Config.Sync). It listens on loopback, or on no port at all, knows no default user,
// and opens no monitoring port. Members are let in by a [natsauth.Authenticator].
//
//	srv, err := embednats.Start(ctx, embednats.Config{StoreDir: dir, Listen: "127.0.0.1:0"})
//	if err != nil {
//		return err
//	}
//	defer srv.Close()
//	fmt.Println(srv.URL())
package embednats
