package prices

import (
	"bytes"
	_ "embed" // the price list and the alias table
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

//go:embed data/modelsdev.csv.zst
var modelsdev []byte

//go:embed data/NOTICE.md
var notice string

// Notice returns origin and licence of the embedded price book, as Markdown.
func Notice() string { return notice }

// AnyProvider in the provider column of a price file means that the price holds at every provider which has no
// price of its own for the model.
const AnyProvider = "*"

// Entry is one line of a price list.
type Entry struct {
	Provider  string    // slug, "deepinfra", or AnyProvider
	Model     string    // as the list writes it, "zai-org/GLM-4.7"
	ValidFrom time.Time // first instant at which the price holds; zero = since ever
	Price     Price
}

// Book is a dated list of prices. It doesn't change after it was read, so it may be shared.
type Book struct {
	entries []Entry
	names   names
	index   map[key][]Entry // by provider and model name, oldest first
}

// key is a provider's slug and a model's name in one of its forms.
type key struct{ provider, model string }

// Embedded returns the price book inside the program: the list of models.dev as of 1 July 2026, USD per million
// tokens, 4,484 prices of 114 providers, and two changes announced for later. It is decoded at every call, so keep the
// result.
func Embedded() (*Book, error) {
	z, err := zstd.NewReader(bytes.NewReader(modelsdev), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("read the embedded price book: %w", err)
	}
	defer z.Close()
	return Read(z, "modelsdev.csv")
}

// Entries returns the lines of the list in their order. The slice must not be changed.
func (b *Book) Entries() []Entry { return b.entries }

// Lookup returns what the provider charges for the model at the given instant, and false when the book doesn't say.
//
// The provider may be written as a slug, with a variant ("deepinfra/fp8"), or by a name of the alias table. A
// variant that names a quantization has the provider's price; any other ("turbo", "fast") is looked up as
// "model-variant". The model may carry an author, a routing shortcut (":nitro") or a date; the date and a
// quantization are left away only where the list has no line that names them. A call takes about a microsecond.
func (b *Book) Lookup(provider, model string, at time.Time) (Price, bool) {
	slug, model := b.names.offer(provider, model)
	for _, provider := range []string{slug, AnyProvider} {
		for _, form := range b.names.forms(provider, model) {
			history := b.index[key{provider, form}]
			for i := len(history) - 1; i >= 0; i-- {
				if !history[i].ValidFrom.After(at) {
					return history[i].Price, true
				}
			}
			if len(history) > 0 {
				return Price{}, false // listed, but only from a later day on
			}
		}
	}
	return Price{}, false
}

// newBook indexes the entries. Every line is found by its own name; shorter forms of a name (without author, date,
// quantization) point at a line only if no other line has that form for its own name. If several lines share a form,
// it points at the shortest of their names and then the one that sorts last, which is the newest date. Between
// authors there is no such choice: where two authors' models share a form at different prices, only the full name
// finds them.
func newBook(entries []Entry, names names) *Book {
	b := &Book{entries: entries, names: names, index: map[key][]Entry{}}
	type claim struct {
		rank  int // 0 = the line's own name
		model string
	}
	claims := map[key]claim{}
	clash := map[key]bool{}
	for i := range entries {
		e := &entries[i]
		for rank, form := range names.forms(e.Provider, e.Model) {
			k := key{e.Provider, form}
			old, taken := claims[k]
			switch {
			case !taken || rank < old.rank:
				claims[k] = claim{rank, e.Model}
				b.index[k] = []Entry{*e}
				clash[k] = false
			case rank > old.rank:
			case e.Model == old.model:
				b.index[k] = append(b.index[k], *e)
			case author(e.Model) != author(old.model):
				clash[k] = clash[k] || e.Price != b.index[k][0].Price
			case better(e.Model, old.model):
				claims[k] = claim{rank, e.Model}
				b.index[k] = []Entry{*e}
			}
		}
	}
	for k, history := range b.index {
		if clash[k] {
			delete(b.index, k)
			continue
		}
		slices.SortStableFunc(history, func(a, b Entry) int { return a.ValidFrom.Compare(b.ValidFrom) })
	}
	return b
}

// better tells which of two lines a shared form of their names points at.
func better(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a > b
}

// author returns what stands before the last slash of a model's name, in lower case.
func author(model string) string {
	i := strings.LastIndexByte(model, '/')
	return strings.ToLower(model[:max(i, 0)])
}
