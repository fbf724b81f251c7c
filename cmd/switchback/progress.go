package main

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Stages shorter than quietTime show nothing; where nobody watches, one line appears every lineEvery.
const (
	quietTime = time.Second
	lineEvery = 30 * time.Second
)

// progress shows how far the stages of a run are: a bar on a terminal, else a line now and then. It is the writer of
// the log too, so that lines and bars do not mix. Quiet runs show nothing.
type progress struct {
	w     io.Writer
	log   *slog.Logger
	now   func() time.Time
	every time.Duration // between two lines
	bars  bool
	quiet bool

	mu   sync.Mutex
	live *mpb.Progress // the container of the bar on show
}

// Write prints log lines above the bar on show.
func (p *progress) Write(line []byte) (int, error) {
	p.mu.Lock()
	live := p.live
	p.mu.Unlock()
	if live != nil {
		if n, err := live.Write(line); err == nil {
			return n, nil
		}
	}
	return p.w.Write(line)
}

// stage is one stage of a run while it works.
type stage struct {
	p     *progress
	name  string
	unit  string
	start time.Time
	done  atomic.Int64
	total atomic.Int64 // 0 when it is not known
	part  atomic.Int64 // of whole: what the time left is estimated from
	whole atomic.Int64
	began atomic.Int64 // done by an earlier command: the count from which this one goes on
	step  atomic.Pointer[step]
	stop  chan struct{}
	ended sync.WaitGroup
}

// step is a part of a stage that is counted by itself, such as a query.
type step struct {
	name  string
	unit  string
	start time.Time
}

// begin starts the display of a stage that counts in unit, such as "requests".
func (p *progress) begin(name, unit string) *stage {
	s := &stage{p: p, name: name, unit: unit, start: p.now(), stop: make(chan struct{})}
	if p.quiet {
		return s
	}
	s.ended.Go(func() {
		if p.bars {
			s.showBar()
		} else {
			s.showLines()
		}
	})
	return s
}

// set says how far the stage is. It may be called from any goroutine.
func (s *stage) set(done, total int64) {
	s.total.Store(total)
	s.setPart(done, done, total)
}

// next begins a step of the stage that counts in unit; without a name it ends the one before.
func (s *stage) next(name, unit string) {
	var begun *step
	if name != "" {
		begun = &step{name, unit, s.p.now()}
	}
	s.goOn(0, 0)
	s.step.Store(begun)
}

// at is the step that the stage is at: itself where it has none.
func (s *stage) at() step {
	if begun := s.step.Load(); begun != nil {
		return *begun
	}
	return step{unit: s.unit, start: s.start}
}

// goOn is set for a stage that an earlier command has begun.
func (s *stage) goOn(done, total int64) {
	s.began.Store(done)
	s.set(done, total)
}

// setPart is set for a stage that does not know how many things there will be, but which part of the work is done.
func (s *stage) setPart(done, part, whole int64) {
	s.done.Store(done)
	s.part.Store(part)
	s.whole.Store(whole)
}

// pace says how many things a second are done and how long the rest will take; 0 is unknown.
func (s *stage) pace() (perSecond int64, left time.Duration) {
	began, took := s.began.Load(), s.p.now().Sub(s.at().start)
	if took <= 0 {
		return 0, 0
	}
	perSecond = int64(float64(s.done.Load()-began) / took.Seconds())
	part, whole := s.part.Load(), s.whole.Load()
	if did := part - began; did > 0 && whole > part {
		left = time.Duration(float64(took) * float64(whole-part) / float64(did)).Round(time.Second)
	}
	return perSecond, left
}

// text says how far the stage is, in words beside a bar.
func (s *stage) text() string {
	at, done, total, part, whole := s.at(), s.done.Load(), s.total.Load(), s.part.Load(), s.whole.Load()
	if done == 0 {
		return at.name
	}
	text := thousands(done)
	if at.name != "" {
		text = at.name + ": " + text
	}
	if total > 0 {
		text += " of " + thousands(total)
	}
	text += " " + at.unit
	if total == 0 && whole > 0 {
		text += fmt.Sprintf(", %d%%", 100*part/whole)
	}
	perSecond, left := s.pace()
	if perSecond > 0 {
		text += ", " + thousands(perSecond) + "/s"
	}
	if left > 0 {
		text += ", " + left.String() + " left"
	}
	return text
}

// end stops the display and returns the seconds that the stage took.
func (s *stage) end() float64 {
	close(s.stop)
	s.ended.Wait()
	return s.p.now().Sub(s.start).Seconds()
}

func (s *stage) showLines() {
	tick := time.NewTicker(s.p.every)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.p.log.Info(s.name+" goes on", s.facts()...)
		}
	}
}

// facts says how far the stage is, in a log.
func (s *stage) facts() []any {
	at, done, total := s.at(), s.done.Load(), s.total.Load()
	var facts []any
	if at.name != "" {
		facts = append(facts, "question", at.name)
	}
	if done == 0 {
		return append(facts, "seconds", hundredths(s.p.now().Sub(at.start).Seconds()))
	}
	facts = append(facts, strings.ReplaceAll(at.unit, " ", "_"), done)
	if total > 0 {
		facts = append(facts, "of", total)
	}
	perSecond, left := s.pace()
	if perSecond > 0 {
		facts = append(facts, "per_second", perSecond)
	}
	if left > 0 {
		facts = append(facts, "left", left.String())
	}
	return facts
}

func (s *stage) showBar() {
	wait := time.NewTimer(quietTime)
	defer wait.Stop()
	select {
	case <-s.stop:
		return
	case <-wait.C:
	}
	live := mpb.New(mpb.WithOutput(s.p.w), mpb.WithWidth(40))
	bar := live.AddBar(0,
		mpb.PrependDecorators(decor.Name(s.name, decor.WC{W: 12, C: decor.DindentRight})),
		mpb.AppendDecorators(
			decor.Any(func(decor.Statistics) string { return s.text() }),
			decor.Elapsed(decor.ET_STYLE_GO, decor.WC{W: 6}),
		),
		mpb.BarRemoveOnComplete(),
	)
	s.p.show(live)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			s.p.show(nil)
			bar.Abort(true)
			live.Wait()
			return
		case <-tick.C:
			// One above the count while the stage works, so that the bar is not complete before the stage is.
			bar.SetTotal(max(s.whole.Load(), s.part.Load())+1, false)
			bar.SetCurrent(s.part.Load())
		}
	}
}

func (p *progress) show(live *mpb.Progress) {
	p.mu.Lock()
	p.live = live
	p.mu.Unlock()
}

// thousands prints a count with separators: 24,000,000.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
