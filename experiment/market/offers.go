package market

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchback/experiment/prices"
)

// MinEndpoints is the number of usable endpoints from which on [Offers] keeps a model.
const MinEndpoints = 4

// Offer is one provider's real public offer of one model, as measured in July 2025.
type Offer struct {
	Model        string // model id, "deepseek/deepseek-chat-v3-0324"
	Slug         string // unique inside the model: the provider's slug, with "/2", "/3", … for its dearer offers
	Provider     string // slug of the provider, "deepinfra"
	ProviderName string // name as published, "DeepInfra"

	// Price is the list price. Its cache-read price is known only where the embedded price book names one for this
	// provider and model: see CacheReadScaled. Where it is unknown, the list promises no discount. The cache-write
	// price is always unknown.
	Price prices.Price

	// CacheReadScaled tells that the price book's input price of this provider and model is another than Price.Input
	// (the book is a year younger), so that its cache-read price was scaled by the ratio of the two.
	CacheReadScaled bool

	// UsualCacheRead is the median of cache-read price ÷ input price over all models of this provider in the price
	// book, and 0 where the book has no cache-read price of the provider. It says what a discount would be, not
	// that there is one.
	UsualCacheRead float64

	LatencyMS       float64 // median time to the first token, ms, > 0
	Throughput      float64 // median output tokens per second, > 0
	ContextTokens   int     // longest prompt and answer together; 0 = not stated
	MaxOutputTokens int     // longest answer; 0 = not stated
}

// Reason says why a row of the source does not become an [Offer]. The first one that holds is given.
type Reason string

// Reasons.
const (
	SkipNotMeasured  Reason = "latency or throughput is N/A"
	SkipThroughput   Reason = "throughput is 0"
	SkipLatency      Reason = "latency is 0"
	SkipPrice        Reason = "price is 0"
	SkipFewEndpoints Reason = "fewer than 4 endpoints of the model are left"
)

// Skipped is a row of the source that does not become an [Offer].
type Skipped struct {
	Line         int // of the source file; line 1 is the header
	Model        string
	ProviderName string
	Reason       Reason
}

// Offers returns the real offers of all models with at least [MinEndpoints] usable endpoints, sorted by model and
// slug, and the skipped rows in the order of the source. Both together are all rows of the source. The data is
// decoded at every call, so keep the result.
//
// Quantization, tool support and uptime are not in the source, so nothing is said about them. Slugs follow the
// alias table of package prices; several offers of one provider for one model are numbered by rising input price,
// output price, latency and throughput.
func Offers() ([]Offer, []Skipped, error) {
	usable, lines, skipped, err := usableOffers()
	if err != nil {
		return nil, nil, err
	}
	left := map[string]int{}
	for _, o := range usable {
		left[o.Model]++
	}
	var offers []Offer
	for i, o := range usable {
		if left[o.Model] < MinEndpoints {
			skipped = append(skipped, Skipped{lines[i], o.Model, o.ProviderName, SkipFewEndpoints})
			continue
		}
		offers = append(offers, o)
	}
	slices.SortFunc(skipped, func(a, b Skipped) int { return cmp.Compare(a.Line, b.Line) })
	numberSlugs(offers)
	return offers, skipped, nil
}

// LoneOffers returns the offers of n models that one provider alone offers, each of another provider: by name, the first ones of the source.
// They are all of them when there are fewer.
func LoneOffers(n int) ([]Offer, error) {
	if n == 0 {
		return nil, nil
	}
	usable, _, skipped, err := usableOffers()
	if err != nil {
		return nil, err
	}
	providers := map[string]int{} // of a model, those whose offers cannot be used among them
	for _, o := range usable {
		providers[o.Model]++
	}
	for _, row := range skipped {
		providers[row.Model]++
	}
	slices.SortStableFunc(usable, func(a, b Offer) int { return cmp.Compare(a.Model, b.Model) })
	taken := map[string]bool{}
	var lone []Offer
	for _, o := range usable {
		if providers[o.Model] == 1 && !taken[o.Provider] && len(lone) < n {
			taken[o.Provider] = true
			o.Slug = o.Provider
			lone = append(lone, o)
		}
	}
	return lone, nil
}

// usableOffers returns the rows that can be used, in the order of the source, with their lines, and those that can't.
func usableOffers() (usable []Offer, lines []int, skipped []Skipped, err error) {
	book, err := prices.Embedded()
	if err != nil {
		return nil, nil, nil, err
	}
	rows, err := readTable("openrouter-endpoints.csv.zst")
	if err != nil {
		return nil, nil, nil, err
	}
	usual := usualCacheRead(book)
	for _, row := range rows {
		o, reason, err := parseOffer(row, book)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("read %s: %w", row.at(), err)
		}
		if reason != "" {
			skipped = append(skipped, Skipped{row.line, o.Model, o.ProviderName, reason})
			continue
		}
		o.UsualCacheRead = usual[o.Provider]
		usable = append(usable, o)
		lines = append(lines, row.line)
	}
	return usable, lines, skipped, nil
}

// parseOffer reads one row. The reason is not empty when the row can't be used.
func parseOffer(row row, book *prices.Book) (Offer, Reason, error) {
	provider, model, found := strings.Cut(row.cell("name"), " | ")
	o := Offer{Model: model, ProviderName: provider, Provider: book.Slug(provider)}
	if !found {
		return o, "", fmt.Errorf("name: no provider in %q", row.cell("name"))
	}
	if row.cell("p50_latency") == "N/A" || row.cell("p50_throughput") == "N/A" {
		return o, SkipNotMeasured, nil
	}
	var err, problem error
	number := func(column string) float64 {
		x, e := row.number(column)
		problem = errors.Join(problem, e)
		return x
	}
	o.LatencyMS, o.Throughput = number("p50_latency"), number("p50_throughput")
	o.ContextTokens, o.MaxOutputTokens = int(number("context_length")), int(number("max_completion_tokens"))
	input, output := number("pricing_prompt"), number("pricing_completion")
	if o.Price.Input, err = prices.PerToken(input); err != nil {
		problem = errors.Join(problem, err)
	}
	if o.Price.Output, err = prices.PerToken(output); err != nil {
		problem = errors.Join(problem, err)
	}
	switch {
	case problem != nil:
		return o, "", problem
	case o.Throughput == 0:
		return o, SkipThroughput, nil
	case o.LatencyMS == 0:
		return o, SkipLatency, nil
	case o.Price.Input == 0 || o.Price.Output == 0:
		return o, SkipPrice, nil
	}
	addCacheRead(&o, book)
	return o, "", nil
}

// addCacheRead takes the cache-read price from the price book.
func addCacheRead(o *Offer, book *prices.Book) {
	listed, ok := book.Lookup(o.Provider, o.Model, bookDay())
	if !ok || !listed.CacheReadKnown || listed.Input == 0 {
		return
	}
	share := float64(listed.CacheRead) / float64(listed.Input)
	o.Price.CacheRead = prices.Rate(share*float64(o.Price.Input) + 0.5)
	o.Price.CacheReadKnown = true
	o.CacheReadScaled = listed.Input != o.Price.Input
}

// bookDay is a day on which the embedded price book holds.
func bookDay() time.Time { return time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC) }

// usualCacheRead returns, for each provider of the book with a cache-read price, the median of its ratio to the
// input price.
func usualCacheRead(book *prices.Book) map[string]float64 {
	shares := map[string][]float64{}
	for _, e := range book.Entries() {
		if e.Price.CacheReadKnown && e.Price.Input > 0 {
			shares[e.Provider] = append(shares[e.Provider], float64(e.Price.CacheRead)/float64(e.Price.Input))
		}
	}
	usual := map[string]float64{}
	for provider, s := range shares {
		slices.Sort(s)
		usual[provider] = s[(len(s)-1)/2]
	}
	return usual
}

// numberSlugs sorts the offers and gives each a slug of its own inside its model.
func numberSlugs(offers []Offer) {
	slices.SortFunc(offers, func(a, b Offer) int {
		return cmp.Or(
			cmp.Compare(a.Model, b.Model), cmp.Compare(a.Provider, b.Provider),
			cmp.Compare(a.Price.Input, b.Price.Input), cmp.Compare(a.Price.Output, b.Price.Output),
			cmp.Compare(a.LatencyMS, b.LatencyMS), cmp.Compare(a.Throughput, b.Throughput))
	})
	n := 0
	for i := range offers {
		o := &offers[i]
		if n++; i == 0 || offers[i-1].Model != o.Model || offers[i-1].Provider != o.Provider {
			n = 1
		}
		o.Slug = o.Provider
		if n > 1 {
			o.Slug += "/" + strconv.Itoa(n)
		}
	}
}
