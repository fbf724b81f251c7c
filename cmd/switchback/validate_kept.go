package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"
)

// keptTrials is a file beside the result of a validation with a line for each finished experiment, so that one that is
// interrupted goes on where it was. An experiment depends on the settings and its own number alone: what it found is the
// same whether it is read back or simulated again. The file is gone when the result stands.
type keptTrials struct {
	path string
	lock *flock.Flock
	mu   sync.Mutex // guards file
	file *os.File
}

// keptHead is the first line: what must be the same for the experiments to be those of this validation.
type keptHead struct {
	Fingerprint string `json:"fingerprint"`
	Command     string `json:"command"` // for the reader of the file
}

// keptLine is the line of an experiment.
type keptLine struct {
	Number int   `json:"number"`
	Trial  trial `json:"trial"`
}

// keepTrials opens the file in a folder, which it makes, and returns the experiments that an earlier command finished.
// A file of other settings or of another build is an error with exit code 2, one in use has exit code 75.
func keepTrials(folder string, head keptHead) (k *keptTrials, found map[int]trial, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, nil, fmt.Errorf("write validation: %w", err)
	}
	k = &keptTrials{path: filepath.Join(folder, "validation.trials.jsonl")}
	k.lock = flock.New(k.path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
	got, err := k.lock.TryLock()
	if err != nil {
		return nil, nil, fmt.Errorf("lock %s: %w", k.path, err)
	}
	if !got {
		return nil, nil, &ExitError{Code: exitLocked, Err: fmt.Errorf("lock %s: another validation holds it", k.path), Hint: "retry later, or choose another --write"}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.close())
		}
	}()
	if k.file, err = os.OpenFile(k.path, os.O_RDWR, 0); err != nil {
		return k, nil, fmt.Errorf("keep experiments: %w", err)
	}
	found, whole, err := k.read(head)
	if err != nil {
		return k, nil, err
	}
	// A line that was being written when its command ended is cut off.
	if err := k.file.Truncate(whole); err != nil {
		return k, nil, fmt.Errorf("keep experiments: %w", err)
	}
	if _, err := k.file.Seek(whole, io.SeekStart); err != nil {
		return k, nil, fmt.Errorf("keep experiments: %w", err)
	}
	if whole == 0 {
		err = k.append(head)
	}
	return k, found, err
}

// read returns the experiments of the file and the length of its whole lines.
func (k *keptTrials) read(head keptHead) (found map[int]trial, whole int64, err error) {
	found = map[int]trial{}
	lines := bufio.NewReader(k.file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, fmt.Errorf("read %s: %w", k.path, err)
		}
		if err != nil { // no line, or a part of one
			return found, whole, nil
		}
		if whole == 0 {
			var earlier keptHead
			if json.Unmarshal(line, &earlier) != nil || earlier.Fingerprint == "" {
				return nil, 0, usageError("choose another --write, or move the file away", "read %s: it is no list of a validation's experiments", k.path)
			}
			if earlier.Fingerprint != head.Fingerprint {
				return nil, 0, usageError("remove it to begin anew, or choose another --write",
					"read %s: its experiments are of other settings or another build: %s", k.path, earlier.Command)
			}
			whole += int64(len(line))
			continue
		}
		var l keptLine
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if decoder.Decode(&l) != nil {
			return found, whole, nil // what follows a broken line is simulated again
		}
		found[l.Number] = l.Trial
		whole += int64(len(line))
	}
}

// add keeps a finished experiment. It may be called from any goroutine.
func (k *keptTrials) add(number int, t trial) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.append(keptLine{number, t})
}

func (k *keptTrials) append(line any) error {
	text, err := json.Marshal(line)
	if err == nil {
		_, err = k.file.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keep experiment: %w", err)
	}
	return nil
}

// remove deletes the file, whose result stands.
func (k *keptTrials) remove() error { return os.Remove(k.path) }

func (k *keptTrials) close() error {
	var err error
	if k.file != nil {
		err = k.file.Close()
	}
	return errors.Join(err, k.lock.Unlock())
}
