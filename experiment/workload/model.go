package workload

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"switchback/experiment/random"
)

// Workload is the demand for all models.
type Workload struct {
	Models []Model // in the order of the names given to New; the first has the most traffic
	Notes  []string
}

// Model is the demand for one model.
type Model struct {
	Name       string
	Flow       float64  // mean requests per second in the first week, all turns
	PeakFlow   float64  // mean requests per second in the busiest 10 minutes of the first week
	MeanInput  float64  // expected input tokens of a request
	MeanOutput float64  // expected output tokens of a request
	ClientIDs  []string // client ids by index, such as "m-mid/60"

	clients []client
	input   *ranks
	output  *ranks
	laws    *laws
	// inputScale and outputScale multiply the laws of the common parameters.
	inputScale, outputScale float64

	recorded []turn  // of a replay, by time; nil where clients generate the requests
	firsts   []int32 // the recorded turns that begin a conversation, by time
}

// Shares reports whether requests can begin with tokens that the client's other conversations begin with too.
func (m *Model) Shares() bool {
	if m.recorded != nil {
		return slices.ContainsFunc(m.recorded, func(t turn) bool { return t.shared > 0 })
	}
	return m.laws.params.SharedPrompt > 0
}

// client is one customer of one model.
type client struct {
	rate  []float32 // conversations per second in each window; repeats
	gaps  []uint8   // burstiness class of each window
	token []int32   // cell of each token window; −1 unknown; repeats
}

// laws is what all models share.
type laws struct {
	params   Params
	bursts   burstTables
	normal   *random.Table
	expo     *random.Table
	gap      *random.Table
	short    *random.Table
	long     *random.Table
	text     *random.Table
	document *random.Table // lengths of long texts
	growth   *growth       // of answers with the prompt
	mix      []float32     // share of short answers in each window of WindowSeconds from the start; repeats
	flashes  []Flash
	loops    *loops // of recorded agents; nil where agents follow the laws of all turns

	chatTurns, agentTurns geometric // turns after the first
}

// New divides the clients of the traces over the models and fits the models' token scales.
// The draw decides which clients a model has and how long its texts are, the seed what happens in the days that the experiment lasts. The first model
// gets the most traffic.
func New(models []string, traces []Trace, p Params, days int, draw, seed uint64) (*Workload, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if len(models) <= p.LoneModels || len(traces) == 0 || days < 1 {
		return nil, errors.New("workload: no model, no trace or no day")
	}
	if p.Chats != "" {
		if err := p.followChats(); err != nil {
			return nil, err
		}
	}
	traces, gaps := fillGaps(traces)
	parts := divide(sources(traces), len(models), p.ModelSkew, random.New(draw, "workload", "divide"))
	l := newLaws(p, days, seed)
	var week *[weekHours]float64
	if p.Shape != "" {
		hours, err := HoursOfWeek()
		if err != nil {
			return nil, fmt.Errorf("workload: %w", err)
		}
		week = &hours
	}
	if p.Agents != "" {
		var err error
		if l.loops, err = newLoops(l.expo); err != nil {
			return nil, fmt.Errorf("workload: %w", err)
		}
		p.AgentTurns = l.loops.turns
	}
	input, output, cellOf := poolTokens(traces, l)
	w := &Workload{Models: make([]Model, len(models))}
	for m := range w.Models {
		if len(parts[m]) == 0 {
			return nil, fmt.Errorf("workload %s: no client left for the model; use fewer models", models[m])
		}
		w.Models[m] = Model{Name: models[m], input: input, output: output, laws: l, inputScale: 1, outputScale: 1}
		w.Models[m].addClients(parts[m], cellOf, p)
	}
	w.scaleFlow(p, week)
	w.scaleTokens(p, draw)
	for _, tr := range traces {
		if tr.Windows*WindowSeconds < days*86400 {
			w.Notes = append(w.Notes, fmt.Sprintf("trace %s lasts %d day(s) and is repeated", tr.Name, tr.Windows*WindowSeconds/86400))
		}
	}
	if gaps > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("%d windows of 10 minutes without any request, gaps of the recordings, repeat the day before", gaps))
	}
	return w, nil
}

func newLaws(p Params, days int, seed uint64) *laws {
	return &laws{
		params:   p,
		bursts:   newBurstTables(p.MaxCV),
		normal:   random.Normal(),
		expo:     random.Exponential(),
		gap:      random.LogNormal(p.GapSigma),
		short:    random.LogNormal(p.ShortSigma),
		long:     random.LogNormal(p.LongSigma),
		text:     random.LogNormal(p.InputSigma),
		document: random.NewTable(func(u float64) float64 { return p.DocumentFrom * math.Pow(p.DocumentTo/p.DocumentFrom, u) }),
		growth:   newGrowth(p.AnswerGrowth),
		mix:      mixDrift(p, days, seed),
		flashes:  p.Flash,

		chatTurns: geometricOf(p.ChatTurns - 1), agentTurns: geometricOf(p.AgentTurns - 1),
	}
}

// mixDrift draws the share of short answers over time: a daily wave and an Ornstein–Uhlenbeck process on the logit.
func mixDrift(p Params, days int, seed uint64) []float32 {
	rng := random.New(seed, "workload", "mix")
	normal := random.Normal()
	mix := make([]float32, days*86400/WindowSeconds)
	keep := math.Exp(-WindowSeconds / 3600.0 / p.MixHours)
	noise := normal.Draw(&rng)
	for w := range mix {
		mix[w] = float32(p.mixAt(w, noise))
		noise = keep*noise + math.Sqrt(1-keep*keep)*normal.Draw(&rng)
	}
	return mix
}

// mixAt is the share of short answers in a window from the start, with the noise, in standard deviations, that it has then.
func (p *Params) mixAt(window int, noise float64) float64 {
	hour := float64(window) * WindowSeconds / 3600
	x := math.Log(p.ShortShare/(1-p.ShortShare)) + p.MixDrift*math.Sin(2*math.Pi*(hour-p.MixPhaseH)/24) + p.MixNoise*noise
	return 1 / (1 + math.Exp(-x))
}

// poolTokens ranks the token counts of all clients. cellOf tells a client's cell in each token window.
func poolTokens(traces []Trace, l *laws) (input, output *ranks, cellOf map[*Client][]int32) {
	input, output = new(ranks), new(ranks)
	cellOf = map[*Client][]int32{}
	var weight []float64
	const perToken = TokenWindowSeconds / WindowSeconds
	for i := range traces {
		tr := &traces[i]
		first, total := len(weight), 0.0
		for j := range tr.Clients {
			c := &tr.Clients[j]
			if !c.HasTokens {
				continue
			}
			at := make([]int32, len(c.Input))
			for w := range at {
				if c.Input[w].Mean <= 0 || c.Output[w].Mean <= 0 {
					continue // filled below
				}
				requests := 0.0
				for k := w * perToken; k < min((w+1)*perToken, tr.Windows); k++ {
					requests += float64(c.Rate[k])
				}
				at[w] = int32(len(weight))
				weight = append(weight, requests)
				total += requests
				input.cells = append(input.cells, cellFrom(c.Input[w]))
				output.cells = append(output.cells, cellFrom(c.Output[w]))
			}
			for w := range at { // windows without counts take the nearest ones
				if near, ok := c.TokensAt(w * perToken); ok {
					at[w] = at[near]
				}
			}
			cellOf[c] = at
		}
		for k := first; k < len(weight); k++ {
			weight[k] /= total // every trace counts the same
		}
	}
	input.pool(weight)
	output.pool(weight)
	return input, output, cellOf
}

// addClients adds the sources with their rates in units of all requests per window.
func (m *Model) addClients(parts []source, cellOf map[*Client][]int32, p Params) {
	for _, s := range parts {
		c := client{token: cellOf[s.client], gaps: make([]uint8, s.trace.Windows)}
		total := 0.0
		for w := range weekWindows {
			total += float64(s.client.Rate[w%s.trace.Windows])
		}
		c.rate = make([]float32, s.trace.Windows)
		for w := range c.rate {
			c.rate[w] = s.client.Rate[w] * float32(s.share/total)
			if s.client.Rate[w] > 0 {
				c.gaps[w] = burstClass(float64(s.client.CV[w]), p.MaxCV)
			}
		}
		m.clients = append(m.clients, c)
		m.ClientIDs = append(m.ClientIDs, s.trace.Name+"/"+strconv.Itoa(s.client.ID))
	}
}

// scaleFlow gives the flow the hours of a week, where there is one, cuts the models' peaks and turns the clients' shares into conversations per second.
func (w *Workload) scaleFlow(p Params, week *[weekHours]float64) {
	total := 0.0
	for i := range w.Models {
		w.Models[i].feedWhale(p.Whale)
	}
	if week != nil {
		w.shapeHours(week)
	}
	for i := range w.Models {
		w.Models[i].cutPeaks(p.PeakToMean)
	}
	if p.LoneModels > 0 {
		w.shareOut(len(w.Models)-p.LoneModels, p.LoneShare)
	}
	for i := range w.Models {
		total += w.Models[i].weekShare()
	}
	perWindow := p.RequestsPerWeek / total
	for i := range w.Models {
		m := &w.Models[i]
		for j := range m.clients {
			for k := range m.clients[j].rate {
				m.clients[j].rate[k] *= float32(perWindow / WindowSeconds / p.meanTurns())
			}
		}
		m.Flow = m.weekShare() / weekWindows * p.meanTurns()
		m.PeakFlow = m.peak() * p.meanTurns()
	}
}

// shareOut gives the models from that number on a share of the whole flow.
func (w *Workload) shareOut(from int, share float64) {
	first, rest := 0.0, 0.0
	for i := range w.Models {
		if i < from {
			first += w.Models[i].weekShare()
		} else {
			rest += w.Models[i].weekShare()
		}
	}
	factor := share / (1 - share) * first / rest
	for i := from; i < len(w.Models); i++ {
		for j := range w.Models[i].clients {
			rate := w.Models[i].clients[j].rate
			for k := range rate {
				rate[k] *= float32(factor)
			}
		}
	}
}

// span is the number of windows after which all clients repeat: that of the longest trace, which the others divide.
func (m *Model) span() int {
	n := 0
	for i := range m.clients {
		n = max(n, len(m.clients[i].rate))
	}
	return n
}

func (m *Model) rateAt(window int) float64 {
	sum := 0.0
	for i := range m.clients {
		c := &m.clients[i]
		at := window
		if at >= len(c.rate) {
			at %= len(c.rate)
		}
		sum += float64(c.rate[at])
	}
	return sum
}

func (m *Model) weekShare() float64 {
	sum := 0.0
	for w := range weekWindows {
		sum += m.rateAt(w)
	}
	return sum
}

func (m *Model) peak() float64 {
	peak := 0.0
	for w := range weekWindows {
		peak = max(peak, m.rateAt(w))
	}
	return peak
}

// cutPeaks lowers the rates of all clients in windows where the model's flow is above the multiple of its mean,
// as a gateway's rate limit does before the router sees the requests.
func (m *Model) cutPeaks(multiple float64) {
	span := m.span()
	m.unroll(span)
	for range 3 { // a cut lowers the mean
		limit := multiple * m.weekShare() / weekWindows
		for w := range span {
			if flow := m.rateAt(w); flow > limit {
				for i := range m.clients {
					m.clients[i].rate[w] *= float32(limit / flow)
				}
			}
		}
	}
}

// unroll repeats the rates of clients of short traces up to a number of windows, since what is done to them differs from day to day.
func (m *Model) unroll(span int) {
	for i := range m.clients {
		c := &m.clients[i]
		if len(c.rate) < span {
			rate, gaps := make([]float32, span), make([]uint8, span)
			for w := range span {
				rate[w], gaps[w] = c.rate[w%len(c.rate)], c.gaps[w%len(c.gaps)]
			}
			c.rate, c.gaps = rate, gaps
		}
	}
}

// whale is the client with the most traffic and its share of the model's, in the first week.
func (m *Model) whale() (at int, share float64) {
	total := m.weekShare()
	for i := range m.clients {
		c := &m.clients[i]
		sum := 0.0
		for w := range weekWindows {
			sum += float64(c.rate[w%len(c.rate)])
		}
		if sum/total > share {
			at, share = i, sum/total
		}
	}
	return at, share
}

// feedWhale multiplies the traffic of the largest client.
func (m *Model) feedWhale(factor float64) {
	if factor == 1 {
		return
	}
	at, _ := m.whale()
	for w := range m.clients[at].rate {
		m.clients[at].rate[w] *= float32(factor)
	}
}
