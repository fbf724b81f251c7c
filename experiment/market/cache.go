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

// tokens returns how many tokens of the conversation the endpoint still holds.
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
