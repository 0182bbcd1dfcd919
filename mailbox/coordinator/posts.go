package coordinator

import (
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
)

// post is where one piece of mail or an order lies, and between whom it goes.
type post struct {
	id, from, to string
	kind         mailbox.Kind
	stream       string
	seq          uint64
	stored       time.Time
	urgent       bool
}

// posts are all of them, by the ids of their envelopes, and in the order in which they were stored. What is stored again
// stays where it was first.
type posts struct {
	byID map[string][]post
	ids  []string
}

// minPrefix is how much of an id names it, in characters.
const minPrefix = 6

// maxNamed bounds the ids that are told to who has named several, and the newest ones that are compared with a misspelt id.
const (
	maxNamed   = 4
	maxCompare = 500
)

func (p *posts) add(one post) {
	if slices.ContainsFunc(p.byID[one.id], func(o post) bool { return o.from == one.from && o.stream == one.stream }) {
		return
	}
	if p.byID == nil {
		p.byID = map[string][]post{}
	}
	if p.byID[one.id] == nil {
		p.ids = append(p.ids, one.id)
	}
	p.byID[one.id] = append(p.byID[one.id], one)
}

// find returns the post of an id, of those that may be seen.
func (p *posts) find(id string, may func(post) bool) (post, bool) {
	for _, one := range p.byID[id] {
		if may(one) {
			return one, true
		}
	}
	return post{}, false
}

// named are the ids that begin so, the newest first, a few of them.
func (p *posts) named(prefix string, may func(post) bool) []string {
	var ids []string
	for _, id := range slices.Backward(p.ids) {
		if !strings.HasPrefix(id, prefix) {
			continue
		}
		if _, ok := p.find(id, may); ok {
			if ids = append(ids, id); len(ids) == maxNamed {
				break
			}
		}
	}
	return ids
}

// newest are the last ids, for the nearest of a misspelt one.
func (p *posts) newest(may func(post) bool) []string {
	var ids []string
	for _, id := range slices.Backward(p.ids) {
		if _, ok := p.find(id, may); ok {
			if ids = append(ids, id); len(ids) == maxCompare {
				break
			}
		}
	}
	return ids
}

// post keeps where mail or an order lies. Receipts are about others, and have no way of their own.
func (x *index) post(m message, e mailbox.Envelope, stream string) {
	if e.Kind == mailbox.KindReceipt {
		return
	}
	one := post{id: e.ID, from: m.subject.From, to: m.subject.To, kind: e.Kind, stream: stream, seq: m.seq, stored: m.stored}
	if e.Kind == mailbox.KindMessage {
		if b, err := mailbox.Body[mailbox.Message](e); err == nil {
			one.urgent = b.Urgent
		}
	}
	x.posts.add(one)
}

// called are the posts of an id, or of the ids that begin so.
func (p *posts) called(id string, may func(post) bool) []post {
	if one, ok := p.find(id, may); ok {
		return []post{one}
	}
	var all []post
	if len(id) >= minPrefix {
		for _, full := range p.named(id, may) {
			one, _ := p.find(full, may)
			all = append(all, one)
		}
	}
	return all
}

// unread are the first posts that may be shown, the urgent ones before the others, at most n.
func (p *posts) unread(n int, may func(post) bool) []post {
	var urgent, rest []post
	for _, id := range p.ids {
		one, ok := p.find(id, may)
		switch {
		case !ok:
		case one.urgent:
			urgent = append(urgent, one)
		default:
			rest = append(rest, one)
		}
	}
	all := append(urgent, rest...)
	return all[:min(n, len(all))]
}
