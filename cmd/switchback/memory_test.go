package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// canonicalLine is the i-th row of a generated canonical log, about 420 bytes.
func canonicalLine(w io.Writer, i int) error {
	models := [...]string{"z-ai/glm-4.7", "deepseek/deepseek-chat-v3-0324", "qwen/qwen3-coder", "meta-llama/llama-3.3-70b"}
	mixed := uint64(i) * 0x9e3779b97f4a7c15 >> 20 // looks random, so that nothing compresses away
	ts := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 250 * time.Millisecond)
	_, err := fmt.Fprintf(w, `{"request_id":"req-%d","session_id":"s%x","client_id":"c%d","ts":"%s","model":"%s","provider":"p%d/fp8","attempts":1,"n_429":0,"n_retries":0,`+
		`"ttft_ms":%d.%03d,"caller_ttft_ms":%d.%03[8]d,"total_ms":%d.%03[8]d,"failed_ms":0,"input_tokens":%d,"cached_tokens":0,"output_tokens":%d,"cost_usd":0.00%d,"cost_source":"billed","status":"ok","streamed":true}`+"\n",
		i, mixed, i%5000, ts.Format(time.RFC3339Nano), models[i%4], i%40, 300+mixed%900, mixed%1000, 330+mixed%900, 2000+mixed%9000, 1+mixed%9000, 1+mixed%900, 10_000+mixed%90_000)
	return err
}

// liteLLMLine is the i-th row of a generated LiteLLM export, newest first: such a file is sorted on disk before attempts
// are joined. Every tenth attempt fails and is followed by another one.
func liteLLMLine(rows int) func(w io.Writer, i int) error {
	return func(w io.Writer, i int) error {
		if i == 0 {
			if _, err := io.WriteString(w, "request_id,spend,startTime,endTime,completionStartTime,status,session_id,model_group,model,prompt_tokens,completion_tokens,metadata\n"); err != nil {
				return err
			}
		}
		n := rows - i
		chat, status := n, "success"
		switch n % 10 {
		case 3:
			status = "failure"
		case 4:
			chat = n - 1
		}
		at := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second).Format(time.DateTime)
		_, err := fmt.Fprintf(w, "req-%d,0.0%d,%s.000,%s.900,%s.500,%s,chat-%d,g,openai/m,%d,%d,\"{\"\"note\"\": \"\"%s\"\"}\"\n",
			n, 1+n%97, at, at, at, status, chat, 100+n%900, 1+n%300, strings.Repeat("x", 250))
		return err
	}
}

// memoryCase is a log to generate and the most that its load may take.
type memoryCase struct {
	name   string
	rows   int
	line   func(io.Writer, int) error
	memory string
	most   int64 // MiB
}

// TestLoadingIsBoundedInMemory: --memory bounds what a load takes, whatever the size of the file.
func TestLoadingIsBoundedInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("loads 60 MB")
	}
	if runtime.GOOS != "linux" {
		t.Skip("counts resident memory as Linux does")
	}
	const million = 1_000_000
	cases := []memoryCase{{"canonical", 150_000, canonicalLine, "128MB", 250}}
	if os.Getenv("SWITCHBACK_SLOW") != "" {
		cases = append(cases,
			memoryCase{"canonical, long", 3 * million / 2, canonicalLine, "512MB", 400},
			memoryCase{"litellm, newest first", million, liteLLMLine(million), "512MB", 400})
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			log := filepath.Join(dir, "log")
			size := generate(t, log, c.rows, c.line)
			load := exec.Command(program, "ingest", "--out", filepath.Join(dir, "out"), "--memory", c.memory, "--quiet", log)
			load.Args[0] = "switchback" // as which TestMain takes it
			if text, err := load.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			peak := load.ProcessState.SysUsage().(*syscall.Rusage).Maxrss / 1024
			t.Logf("%d MB in %d rows: %d MiB at --memory %s", size/million, c.rows, peak, c.memory)
			if peak > c.most {
				t.Errorf("%d MB took %d MiB at --memory %s, more than %d", size/million, peak, c.memory, c.most)
			}
		})
	}
}

// generate writes a log line by line and returns its size.
func generate(t *testing.T, path string, rows int, line func(io.Writer, int) error) int64 {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriterSize(file, 1<<20)
	for i := range rows {
		if err := line(out, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
