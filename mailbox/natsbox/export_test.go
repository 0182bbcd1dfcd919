package natsbox

// SetMessageIDs makes a connection use these message ids first, as if they had been drawn.
func SetMessageIDs(cfg *Config, ids ...string) {
	cfg.newID = func() string {
		if len(ids) == 0 {
			return randomID()
		}
		id := ids[0]
		ids = ids[1:]
		return id
	}
}
