package experiment

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Ids tell every request of every model apart, however many conversations and turns there are, and fit the 12 bytes that
// DuckDB holds in place.
func TestIdsAreUnique(t *testing.T) {
	type key struct {
		model   int
		session uint32
		turn    int32
	}
	keys := rapid.Custom(func(t *rapid.T) key {
		return key{
			model:   rapid.IntRange(0, 3).Draw(t, "model"),
			session: rapid.OneOf(rapid.Uint32Range(0, 40), rapid.Uint32Range(1<<25-2, 1<<25+40), rapid.Uint32()).Draw(t, "session"),
			turn:    rapid.OneOf(rapid.Int32Range(0, 3), rapid.Int32Range(1<<10-2, 1<<10+3), rapid.Int32Range(0, 1<<15-1)).Draw(t, "turn"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		var l rowLog
		seen, sessions := map[string]key{}, map[string]key{}
		for _, k := range rapid.SliceOfNDistinct(keys, 2, 40, rapid.ID[key]).Draw(t, "requests") {
			request, session := l.ids(k.model, k.session, k.turn)
			if other, dup := seen[request]; dup {
				t.Fatalf("%+v and %+v have the id %s", k, other, request)
			}
			if other, dup := sessions[session]; dup && (other.model != k.model || other.session != k.session) {
				t.Fatalf("the conversations of %+v and %+v have the id %s", k, other, session)
			}
			if !strings.HasPrefix(request, session) || len(request) > 12 {
				t.Fatalf("id %s of conversation %s: want its beginning, and at most 12 bytes", request, session)
			}
			seen[request], sessions[session] = k, k
		}
	})
}
