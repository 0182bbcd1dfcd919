package app

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/mailbox/certs"
	"github.com/planswarm/swarm/mailbox/embednats"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
)

// reach is how a broker is reached: from this machine, and from others.
type reach struct {
	listen   string
	names    []string      // of this machine, under which others reach it
	certs    *certs.Server // nil: in clear
	own      bool          // by an authority of the team's own
	insecure bool          // others may reach it in clear
}

// reach decides it, and writes nothing: beyond this machine there is TLS, unless the person says that there is none.
func (s state) reach(e Env, o UpOptions) (reach, error) {
	b := e.Settings.Broker
	w := reach{listen: s.listen(o), insecure: o.Insecure || b.Insecure}
	t := b.TLS.Over(o.TLS)
	host, port, err := net.SplitHostPort(w.listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || host == "" {
		return w, badListen(w.listen, "")
	}
	away := !onLoopback(host)
	switch {
	case w.insecure && t.Wanted():
		return w, fail(exitUsage, "bad_tls", "a certificate and --insecure contradict each other", "leave one of them out")
	case (t.Cert == "") != (t.Key == "") || t.CA != "" && t.Cert == "":
		return w, fail(exitUsage, "bad_tls", "a certificate, its key and its authority go together", "name --tls-cert and --tls-key, or leave all out for an authority of the team's own")
	}
	for _, name := range t.Names {
		if !hostForm.MatchString(name) && net.ParseIP(name) == nil {
			return w, fail(exitUsage, "bad_tls", fmt.Sprintf("--tls-name %s is not a host name or an address", plans.VisibleLine(plans.Cut(name, 60))), "write it like broker.example.com")
		}
	}
	w.names = namesOf(host, t.Names, away)
	if w.insecure || !away && !t.Wanted() {
		return w, nil
	}
	if t.Cert == "" {
		w.own = true
		return w, nil
	}
	if w.certs, err = certs.Files(t.Cert, t.Key, t.CA, time.Now); err != nil {
		return w, fail(exitError, "bad_tls", plainText(err), "")
	}
	return w, w.covered(t)
}

// certify has the team's own authority in s make what is needed. The authority is made at the first time.
func (w *reach) certify(s state, team string) error {
	if !w.own {
		return nil
	}
	host, _, err := net.SplitHostPort(w.listen)
	if err == nil {
		w.certs, err = certs.Own(s.dir, team, w.shown(host), time.Now)
	}
	if err != nil {
		return fail(exitError, "bad_tls", plainText(err), "")
	}
	return nil
}

// shown are the names in a certificate of the team's own: members on this machine look for the address that is listened on.
func (w reach) shown(host string) []string {
	names := slices.Concat(w.names, []string{"localhost", "127.0.0.1", "::1"})
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		names = append(names, host)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// covered refuses a certificate that is good for no name under which members would look for the broker.
func (w *reach) covered(t config.TLS) error {
	good := slices.DeleteFunc(slices.Clone(w.names), func(name string) bool { return !w.certs.For(name) })
	if len(t.Names) > 0 && len(good) < len(w.names) || len(good) == 0 {
		return fail(exitUsage, "bad_tls", fmt.Sprintf("the certificate %s is good for %s, not for %s", t.Cert, strings.Join(w.certs.Names(), ", "), strings.Join(w.names, ", ")),
			"say with --tls-name under which of its names this machine is reached")
	}
	w.names = good
	return nil
}

// namesOf are the names that members are given: those that the person says, else the address that is listened on, else
// those of this machine.
func namesOf(host string, said []string, away bool) []string {
	if len(said) > 0 {
		return said
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		return []string{host}
	}
	var names []string
	if name, err := os.Hostname(); err == nil && name != "localhost" {
		names = append(names, name)
	}
	addresses, _ := net.InterfaceAddrs() // none: the host's name has to do
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && away && ip.IP.IsGlobalUnicast() {
			names = append(names, ip.IP.String())
		}
	}
	return names[:min(len(names), maxNames)]
}

// hostForm is a name that a certificate can have, and an address.
var hostForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,62}\.?){1,10}$`)

// maxNames is how many names of this machine invitations have at most.
const maxNames = 8

func onLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (w reach) tls() *tls.Config {
	if w.certs == nil {
		return nil
	}
	return w.certs.TLS()
}

func (w reach) ca() string {
	if w.certs == nil {
		return ""
	}
	return w.certs.CA()
}

func (w reach) scheme() string {
	if w.certs == nil {
		return "nats"
	}
	return "tls"
}

// parts are host and port that the broker listens on.
func parts(s *embednats.Server) (host, port string) {
	_, rest, _ := strings.Cut(s.URL(), "://")
	host, port, _ = net.SplitHostPort(rest) // the broker made it
	return host, port
}

// local is where members on this machine reach the broker.
func (w reach) local(s *embednats.Server) string {
	host, port := parts(s)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if w.certs != nil && !w.certs.For(host) { // a certificate for its names only
		host = cmp.Or(w.names[0], host)
	}
	return w.scheme() + "://" + net.JoinHostPort(host, port)
}

// servers are where others do; none, where none can.
func (w reach) servers(s *embednats.Server) []string {
	host, port := parts(s)
	if w.certs == nil && onLoopback(host) {
		return nil
	}
	var list []string
	for _, name := range w.names {
		list = append(list, w.scheme()+"://"+net.JoinHostPort(name, port))
	}
	return list
}

// shortURL is an address for people: what has a scheme is reached by TLS.
func shortURL(url string) string { return strings.TrimPrefix(url, "nats://") }

// untrusted is an error for people where a broker's certificate is not to be believed; nil: it is about something else.
func untrusted(err error) error {
	if errors.Is(err, natsbox.ErrCertificate) || errors.Is(err, natsbox.ErrNoTLS) {
		return fail(exitAuth, "untrusted_broker", plans.VisibleLine(plainText(err)), "")
	}
	return nil
}

// lines tell the person who starts it how the broker is reached.
func (w reach) lines(s *embednats.Server) []string {
	switch list := strings.Join(w.servers(s), ", "); {
	case w.certs != nil && w.own:
		return []string{fmt.Sprintf("tls      ready      %s; certificate until %s by the team's own authority, which invitations name", list, w.certs.Until().Local().Format(time.DateOnly))}
	case w.certs != nil:
		return []string{fmt.Sprintf("tls      ready      %s; certificate until %s", list, w.certs.Until().Local().Format(time.DateOnly))}
	case list != "":
		return []string{
			fmt.Sprintf("tls      NOT USED   %s: whoever is on the way reads plans and mail, may hold them back, and may take a member's", list),
			"                    connection over; it cannot approve. Members join with swarm team join --insecure",
		}
	}
	return nil
}
