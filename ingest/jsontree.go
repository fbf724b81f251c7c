package ingest

// node is a JSON value. The zero node is null, so that a path through what is not there ends in null.
type node struct {
	kind    jsonKind
	text    []byte // of a string without quotes and escapes, or of a number or bool
	members []member
	array   bool // members are the elements of an array
}

type member struct {
	key   string
	value node
}

// parseJSON reads one JSON value.
func parseJSON(text []byte) (node, bool) {
	s := jsonScanner{b: text}
	s.space()
	n, ok := s.node(0)
	s.space()
	return n, ok && s.i == len(s.b)
}

// node reads one value with all that is in it.
func (s *jsonScanner) node(depth int) (node, bool) {
	if depth > maxJSONDepth || s.i >= len(s.b) {
		return node{}, false
	}
	switch s.b[s.i] {
	case '{':
		s.i++
		return s.objectNode(depth)
	case '[':
		s.i++
		return s.arrayNode(depth)
	}
	kind, text, ok := s.value(depth)
	return node{kind: kind, text: text}, ok
}

func (s *jsonScanner) objectNode(depth int) (node, bool) {
	n := node{kind: jsonNested}
	for first := true; ; first = false {
		s.space()
		if s.take('}') {
			return n, true
		}
		if !first && !s.take(',') {
			return n, false
		}
		s.space()
		key, ok := s.str()
		s.space()
		if !ok || !s.take(':') {
			return n, false
		}
		s.space()
		v, ok := s.node(depth + 1)
		if !ok {
			return n, false
		}
		n.members = append(n.members, member{validText(key), v})
	}
}

func (s *jsonScanner) arrayNode(depth int) (node, bool) {
	n := node{kind: jsonNested, array: true}
	for first := true; ; first = false {
		s.space()
		if s.take(']') {
			return n, true
		}
		if !first && !s.take(',') {
			return n, false
		}
		s.space()
		v, ok := s.node(depth + 1)
		if !ok {
			return n, false
		}
		n.members = append(n.members, member{value: v})
	}
}

// get returns the value at a path of keys, null when there is none. Of a key that stands twice, the last counts.
func (n node) get(path ...string) node {
	for _, key := range path {
		if n.array {
			return node{}
		}
		found := node{}
		for i := len(n.members) - 1; i >= 0; i-- {
			if n.members[i].key == key {
				found = n.members[i].value
				break
			}
		}
		n = found
	}
	return n
}

// has tells whether an object has a key.
func (n node) has(key string) bool {
	for _, m := range n.members {
		if m.key == key && !n.array {
			return true
		}
	}
	return false
}

// elements returns the elements of an array, nil for anything else.
func (n node) elements() []member {
	if !n.array {
		return nil
	}
	return n.members
}

// str returns the text of a string, number or bool, "" for anything else.
func (n node) str() string {
	if n.kind == jsonNested {
		return ""
	}
	return validText(n.text)
}

// inner reads a string as JSON: some logs put JSON into strings.
func (n node) inner() node {
	if n.kind != jsonString {
		return n
	}
	v, ok := parseJSON(n.text)
	if !ok {
		return node{}
	}
	return v
}

// isNothing tells whether a value is absent, null or a word for that.
func (n node) isNothing() bool { return n.kind != jsonNested && isFiller(n.text) }

// isTrue tells whether a value says yes.
func (n node) isTrue() bool {
	v, state := n.parseBool()
	return state == parsedValue && v == 1
}

// whole returns a whole number.
func (n node) whole() (int64, bool) {
	v, state := n.parseWhole()
	return v, state == parsedValue
}

// decimal returns a number in units of 10^-scale.
func (n node) decimal(scale int) (int64, bool) {
	v, state := n.parseDecimal(scale)
	return v, state == parsedValue
}

// isNumber says what a value is as a number: its text may be one, it is none, or it is nothing at all.
func (n node) isNumber() parsed {
	switch n.kind {
	case jsonNumber, jsonString:
		return parsedValue
	case jsonNull:
		return parsedFiller
	}
	return parsedBad
}

func (n node) parseWhole() (int64, parsed) {
	if state := n.isNumber(); state != parsedValue {
		return 0, state
	}
	return parseWhole(n.text)
}

// parseCount reads a count or a number of tokens.
func (n node) parseCount() (int64, parsed) {
	v, state := n.parseWhole()
	if state != parsedValue {
		return 0, state
	}
	return inCount(v)
}

func (n node) parseDecimal(scale int) (int64, parsed) {
	if state := n.isNumber(); state != parsedValue {
		return 0, state
	}
	return parseDecimal(n.text, scale)
}

func (n node) parseBool() (int64, parsed) {
	switch n.kind {
	case jsonNull:
		return 0, parsedFiller
	case jsonNested:
		return 0, parsedBad
	}
	return parseBool(n.text)
}
