package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"switchback/router/request"
)

// ErrAutoAlone is wrapped by the error of a drive that asks for no model by name.
var ErrAutoAlone = errors.New("openrouter/auto chooses among the models that are asked for by name, and there is none")

// Lists says which requests may be answered by another model than the one that they name. A request turns to the next model
// when no endpoint of the one before is left to try: all failed, rejected it, or may not be used. It stays where it is once a first token was
// seen, and when its caller goes away. The zero Lists has none.
type Lists struct {
	Length int     // models of a fallback list, the named one included; below 2: no lists
	Share  float64 // of the conversations that carry such a list, in [0, 1]; the others name one model
	Auto   bool    // openrouter/auto is asked for like a model of its own, by clients of its own
	Tier   string  // cost tier that openrouter/auto is asked with; "" is low
}

// mostListed bounds the models of a list.
const mostListed = 100

// Validate reports every field that is out of its range.
func (l Lists) Validate() error {
	var problems []error
	if l.Length < 0 || l.Length > mostListed {
		problems = append(problems, fmt.Errorf("lists length: %d is not between 0 and %d", l.Length, mostListed))
	}
	if math.IsNaN(l.Share) || l.Share < 0 || l.Share > 1 {
		problems = append(problems, fmt.Errorf("lists share: %v is not between 0 and 1", l.Share))
	}
	if tiers := request.CostTiers(); l.Tier != "" && !slices.Contains(tiers, l.Tier) {
		problems = append(problems, fmt.Errorf("lists tier: unknown %q (known: %s)", l.Tier, strings.Join(tiers, ", ")))
	}
	return errors.Join(problems...)
}

// linkModels says which models the requests of each job try, and joins the jobs that share models to units, the one with the largest flow
// first. Models that take no part in the drive are in no list.
func (s *scene) linkModels() error {
	l := s.scenario.Lists
	byCost := make([]*job, 0, len(s.jobs)) // those with endpoints
	for i := range s.jobs {
		if j := &s.jobs[i]; j.demand.Name != request.AutoModel {
			j.orders = [][]string{{j.demand.Name}}
			byCost = append(byCost, j)
		}
	}
	slices.SortStableFunc(byCost, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.typicalCost(), b.typicalCost()), cmp.Compare(a.demand.Name, b.demand.Name))
	})
	if l.Length > 1 {
		for group := range slices.Chunk(byCost, l.Length) {
			listNeighbours(group, l.Share)
		}
	}
	for i := range s.jobs {
		if j := &s.jobs[i]; j.demand.Name == request.AutoModel {
			if err := j.listByRank(byCost, l.Tier); err != nil {
				return fmt.Errorf("scenario %s: %w", s.scenario.Name, err)
			}
		}
	}
	s.units = units(s.jobs)
	return nil
}

// cost is the least that the job's endpoints charge for a prompt and an answer of so many tokens, USD.
func (j *job) cost(input, output float64) float64 {
	least := math.Inf(1)
	for i := range j.offers {
		p := &j.offers[i].Price
		least = min(least, input*p.Input.PerToken()+output*p.Output.PerToken())
	}
	return least
}

// typicalCost is what the auto router compares models by: the cost of 4 K tokens in and 1 K out, USD.
func (j *job) typicalCost() float64 { return j.cost(4000, 1000) }

// listNeighbours gives models that cost about the same a common list, each its own turn of it: itself first, then the dearer
// ones, then from the cheapest.
func listNeighbours(group []*job, share float64) {
	for i, j := range group {
		order := make([]string, len(group))
		for k := range order {
			order[k] = group[(i+k)%len(group)].demand.Name
		}
		j.orders, j.listed = [][]string{order}, share
	}
}

// listByRank lets the auto router list the models of its cost tier: once for a new conversation, and once for each model that a
// conversation may keep. The ranking is that of all traffic, by the models' shares of the spend that is expected.
func (j *job) listByRank(models []*job, tier string) error {
	byName := map[string]*job{}
	ranking := make([]request.Ranked, len(models))
	for i, m := range models {
		byName[m.demand.Name] = m
		ranking[i] = request.Ranked{Model: m.demand.Name, Share: m.demand.Flow * m.cost(m.demand.MeanInput, m.demand.MeanOutput)}
	}
	total := 0.0
	for i := range ranking {
		total += ranking[i].Share
	}
	for i := range ranking {
		ranking[i].Share /= total
	}
	slices.SortStableFunc(ranking, func(a, b request.Ranked) int { return cmp.Compare(b.Share, a.Share) })
	auto := request.AutoPlugin{Enabled: true, CostTier: tier}
	choose := func(kept string) []string {
		chosen, _ := auto.Choose("", func(string) []request.Ranked { return ranking }, func(model string) (float64, bool) { return byName[model].typicalCost(), true }, kept)
		return chosen
	}
	candidates := choose("")
	if len(models) == 0 {
		return ErrAutoAlone
	}
	if len(candidates) == 0 {
		return fmt.Errorf("%s: none of %d models has the cost tier %q", request.AutoModel, len(models), cmp.Or(tier, "low"))
	}
	j.listed = 1
	for _, kept := range candidates {
		j.orders = append(j.orders, choose(kept))
	}
	byName[candidates[0]].guests += j.demand.Flow
	return nil
}

// units joins the jobs whose requests try a common model, directly or through other jobs.
func units(jobs []job) [][]job {
	unitOf := make([]int, len(jobs))
	byModel := map[string]int{} // the first job that tries a model
	for i := range jobs {
		unitOf[i] = i
		for _, model := range jobs[i].orders[0] {
			first, met := byModel[model]
			if !met {
				byModel[model] = i
				continue
			}
			from, to := unitOf[i], unitOf[first]
			for k := range unitOf {
				if unitOf[k] == from {
					unitOf[k] = to
				}
			}
		}
	}
	var all [][]job
	place := map[int]int{}
	for i, j := range jobs {
		at, met := place[unitOf[i]]
		if !met {
			at = len(all)
			place[unitOf[i]] = at
			all = append(all, nil)
		}
		all[at] = append(all[at], j)
	}
	flow := func(unit []job) (sum float64) {
		for _, j := range unit {
			sum += j.demand.Flow
		}
		return sum
	}
	slices.SortStableFunc(all, func(a, b []job) int { return cmp.Compare(flow(b), flow(a)) })
	return all
}
