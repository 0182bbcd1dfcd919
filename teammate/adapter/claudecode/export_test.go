package claudecode

// Environment is what the client is started with.
func Environment(c Config) []string { return c.environment() }
