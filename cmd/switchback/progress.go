package main

import (
	"io"
	"log/slog"
	"strconv"
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
	total atomic.Int64
	stop  chan struct{}
	ended sync.WaitGroup
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
	s.done.Store(done)
	s.total.Store(total)
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
			if total := s.total.Load(); total > 0 {
				s.p.log.Info(s.name+" goes on", s.unit, s.done.Load(), "of", total)
			} else {
				s.p.log.Info(s.name+" goes on", "seconds", hundredths(s.p.now().Sub(s.start).Seconds()))
			}
		}
	}
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
			decor.Any(func(decor.Statistics) string {
				if s.total.Load() == 0 {
					return ""
				}
				return thousands(s.done.Load()) + " of " + thousands(s.total.Load()) + " " + s.unit
			}),
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
			bar.SetTotal(max(s.total.Load(), s.done.Load())+1, false)
			bar.SetCurrent(s.done.Load())
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
