package charter

import (
	"crypto/sha256"
	"strings"
)

// Words are six words that two people compare before one of them is let in as a leader or an observer: 48 bits over the
// team, the name, the role and the key. Who swaps the key has to find another one with the same words.
func Words(teamID, name string, role Role, key string) string {
	sum := sha256.Sum256([]byte("swarm/words/v1\n" + teamID + "\n" + name + "\n" + string(role) + "\n" + key))
	out := make([]string, 6)
	for i := range out {
		out[i] = words[sum[i]]
	}
	return strings.Join(out, " ")
}

// words are 256 short words that are easy to say and hard to mistake for each other. Their order never changes.
var words = strings.Fields(`
acid acorn actor adobe agent alarm album alley amber ankle apple apron arena arrow atlas attic
award axle bacon badge baker banjo barn basil beach beard berry bench bird blade blaze bloom
board bonus boot brake brass bread brick bride broom brush bucket bunny cabin cable cactus camel
candy canoe carpet castle cedar cello chalk chess chief cider cigar circus clay cliff cloud clover
coach cobra coffee comet copper coral cotton cousin crane cream crown curve daisy dance deer denim
desert diary dinner disk dolphin donkey dragon drum eagle early easel echo eggs elbow empire engine
fabric falcon farmer feather fence ferry fiddle finger flame flute forest fossil fox frost fruit funnel
galaxy garden garlic gate ghost ginger giraffe glass globe glove goat gold grape gravel guitar hammer
harbor hat hazel helmet hero hill honey hood horse hotel hunter ice igloo inch ink iris island
ivory jacket jaguar jelly jewel jockey judge juice jungle kettle kidney king kitten knee ladder lake
lamp laser lemon lion lizard lobster locket lunar magnet mango maple marble mask meadow medal melon
mint mirror monkey moon moss motor museum napkin needle nest nickel noodle novel nurse oak oasis
ocean olive onion opera orbit orchid otter oven owl oxygen paint palace panda paper parrot pearl
pencil pepper piano pigeon pillow pilot pirate planet plum pocket poem pony potato prince pumpkin puzzle
quail quartz queen rabbit radio raft rain raven ribbon ring river robot rocket rope ruby saddle
salad salmon sandal scarf school shadow sheep shell shield silver snow spoon storm sugar sunset
`)
