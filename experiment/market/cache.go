package market

// Cache is what endpoints remember of one conversation: the prompt caches of the two that served it last.
// It lives with the conversation because no other one reads it.
type Cache struct {
	entries [2]cacheEntry // the latest first
}

type cacheEntry struct {
	expires  int64 // µs since the start of the experiment
	tokens   int32 // of the conversation held; 0 = empty
	endpoint int32
}

// held returns how many tokens of the conversation the endpoint still holds.
func (c *Cache) held(endpoint int32, now int64) int32 {
	for i := range c.entries {
		if e := &c.entries[i]; e.tokens > 0 && e.endpoint == endpoint && now < e.expires {
			return e.tokens
		}
	}
	return 0
}

// write notes that the endpoint holds the conversation's first tokens until expires.
func (c *Cache) write(endpoint, tokens int32, expires int64) {
	if c.entries[0].tokens > 0 && c.entries[0].endpoint != endpoint {
		c.entries[1] = c.entries[0]
	}
	c.entries[0] = cacheEntry{expires: expires, tokens: tokens, endpoint: endpoint}
}

// Memory is what the endpoints of a model remember of a request's prompt.
type Memory struct {
	Cache *Cache // of its conversation

	// Shared is the instants until which each endpoint holds what all conversations of the request's client begin with,
	// µs since the start of the experiment, by endpoint. Not read when the request has no Shared tokens.
	Shared []int64
}

// held returns how many tokens of the prompt's beginning the endpoint still holds.
func (m Memory) held(endpoint int32, w Work, now int64) int32 {
	tokens := int32(0)
	if w.Prefix > 0 {
		tokens = min(w.Prefix, m.Cache.held(endpoint, now))
	}
	if tokens < w.Shared && now < m.Shared[endpoint] {
		tokens = w.Shared
	}
	return tokens
}

// write notes that the endpoint holds the conversation until expires, and with it what it shares with others.
func (m Memory) write(endpoint int32, w Work, expires int64) {
	m.Cache.write(endpoint, w.Input+w.Output, expires)
	if w.Shared > 0 {
		m.Shared[endpoint] = expires
	}
}
