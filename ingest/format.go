package ingest

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// FormatAuto asks to recognise the format of each file by its first lines.
const FormatAuto = "auto"

// sampleLines is how many lines of a file are looked at to recognise its format.
const sampleLines = 100

// sampleBytes bounds the same. Where no format is found in so little, because of a long line, the sample grows to
// longSampleBytes.
const (
	sampleBytes     = 1 << 20
	longSampleBytes = maxLine + sampleBytes
)

// format is one kind of log.
type format struct {
	name string
	// recognises tells whether the first lines of a file are of this format. The lines are not empty.
	recognises func(lines [][]byte) bool
	// read reads a file into a sink, from the given offset on: what lies before was loaded already. It returns
	// the names of columns that it does not know.
	read func(in io.Reader, from int64, sink *rowSink) (unknown []string, err error)
	// parquet is instead of read for the files that DuckDB reads itself.
	parquet bool
	// appends tells that records are independent of each other, so that only what is new of a grown file needs
	// to be read.
	appends bool
	// folds tells that a request may be put together from several records.
	folds bool
	// caveat is what a reader of every file of the format should know, "" for none.
	caveat string
	// sessionIsTrace tells that a session id that looks like a UUID and stands once was made up by the gateway.
	sessionIsTrace bool
	costInCents    bool
	// mostExported is the number of records at which an export of the gateway ends without saying so, 0 for none.
	mostExported int64
}

// formats returns every format, in the order in which they are tried.
func formats() []format {
	all := []format{
		{name: FormatCanonical, recognises: isCanonicalCSV, read: readCanonicalCSV, appends: true},
		{name: FormatCanonical, recognises: isCanonicalJSON, read: readCanonicalJSON, appends: true},
		{name: FormatCanonical, recognises: startsWith(parquetMagic), parquet: true},
		{name: FormatCanonical, recognises: startsWith(arrowMagic), read: readArrow},
		{name: FormatCanonical, recognises: startsWith(arrowStreamMagic), read: readArrow},
	}
	for _, m := range mappings() {
		all = append(all, m.asFormat())
	}
	return all
}

// mappings returns the formats of gateways. A new one is one function that returns its mapping, listed here.
func mappings() []mapping {
	return []mapping{
		openRouterGeneration(), openRouterActivity(), openRouterResponse(), openRouterBroadcast(), openRouterWarehouse(),
		liteLLMSpendLogs(), liteLLMStandard(), helicone(), langfuse(), bifrost(), otelGenAI(), envoyAIGateway(),
		portkey(), cloudflare(), cloudflareLogpush(), newAPI(),
	}
}

// Formats returns the names of the log formats.
func Formats() []string {
	var names []string
	for _, f := range formats() {
		if !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	return names
}

// recogniseStream finds the format of a stream and returns a reader of the whole. An empty stream has none.
func recogniseStream(name string, in io.Reader) (f format, whole io.Reader, empty bool, err error) {
	for _, size := range []int64{sampleBytes, longSampleBytes} {
		var lines [][]byte
		var cut bool
		if lines, in, cut, err = sniff(in, size); err != nil {
			return format{}, nil, false, err
		}
		if len(lines) == 0 {
			return format{}, in, true, nil
		}
		if f, err = recognise(name, lines); err == nil || !cut {
			break
		}
	}
	return f, in, false, err
}

// formatError says why a stream is of no format.
type formatError struct{ reason, hint string }

func (e formatError) Error() string { return e.reason }

// sniff reads the first lines of a stream, at most so many bytes, and returns a reader of the whole. It tells
// whether the lines were cut by that bound.
func sniff(in io.Reader, most int64) (lines [][]byte, whole io.Reader, cut bool, err error) {
	head, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		return nil, nil, false, err
	}
	whole = io.MultiReader(bytes.NewReader(head), in)
	for line := range bytes.Lines(trimBOM(head)) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			lines = append(lines, line)
		}
		if len(lines) == sampleLines {
			break
		}
	}
	return lines, whole, int64(len(head)) == most && len(lines) < sampleLines, nil
}

func trimBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")) }

// recognise finds the format of a file. A forced name must agree with the file.
func recognise(name string, lines [][]byte) (format, error) {
	if reason := refusal(lines); reason != "" {
		return format{}, formatError{reason, ""}
	}
	for _, f := range formats() {
		if (name == FormatAuto || name == f.name) && f.recognises(lines) {
			return f, nil
		}
	}
	return format{}, unrecognised(name, lines)
}

// unrecognised says what a file looks like that is not of a format.
func unrecognised(name string, lines [][]byte) formatError {
	e := formatError{"no known log format", "switchback ingest --help lists the formats; a canonical log has at least " + strings.Join(requiredColumns(), ", ")}
	if name == FormatAuto || name == FormatCanonical {
		if reason, hint := nearFormat(lines); reason != "" {
			e.reason, e.hint = e.reason+": "+reason, hint
		}
	}
	if name != FormatAuto {
		e.reason = strings.Replace(e.reason, "no known log format", "not in the format "+name, 1)
		if found, err := recognise(FormatAuto, lines); err == nil {
			e.hint = "it looks like " + found.name + "; the format auto finds that by itself"
		}
	}
	e.reason += fmt.Sprintf("; its first line is %q", clip(lines[0]))
	return e
}

// refusal names what a file is when it cannot be a log of requests.
func refusal(lines [][]byte) string {
	line := lines[0]
	switch {
	case bytes.HasPrefix(line, []byte("\xff\xfe")), bytes.HasPrefix(line, []byte("\xfe\xff")):
		return "UTF-16 text; convert it to UTF-8"
	case bytes.HasPrefix(line, []byte("PK\x03\x04")):
		return "a zip archive; unpack it"
	case bytes.HasPrefix(line, []byte("\xfd7zXZ")), bytes.HasPrefix(line, []byte("BZh")):
		return "compressed with xz or bzip2; use gzip or zstd"
	case bytes.HasPrefix(line, []byte("# HELP ")), bytes.HasPrefix(line, []byte("# TYPE ")):
		return "a dump of metrics: histograms hold no single requests, so blocks cannot be compared from it"
	}
	v, ok := parseJSON(line)
	if !ok {
		v, _ = parseJSON(joinLines(lines)) // null when the sample ends inside the document
	}
	record := v
	if data := v.get("data"); data.array && len(data.members) > 0 {
		record = data.members[0].value
	} else if data.kind == jsonNested {
		record = data
	}
	switch {
	case record.has("date") && record.has("requests") && record.has("model"):
		return "daily sums: one row stands for many requests; export single generations instead"
	case bytes.Contains(joinLines(lines), []byte(`"architecture"`)) && bytes.Contains(joinLines(lines), []byte(`"pricing"`)):
		return "a list of endpoints and prices, not a log of requests"
	case record.has("target_pod") && record.has("start_time") && record.has("tpot"):
		return "times of a monotonic clock: without the date of its start no request can be put into a block"
	}
	return ""
}

func startsWith(magic string) func([][]byte) bool {
	return func(lines [][]byte) bool { return bytes.HasPrefix(lines[0], []byte(magic)) }
}

func clip(line []byte) string {
	if len(line) > 80 {
		line = line[:80]
		for len(line) > 0 && !utf8.Valid(line) && len(line) > 76 {
			line = line[:len(line)-1]
		}
	}
	return rejectText(line)
}

func isCanonicalCSV(lines [][]byte) bool {
	c := csvReader{}
	return c.split(lines[0]) && newCanonicalHeader().set(c.fields)
}

// isCanonicalJSON looks for the required keys in any of the first lines: one of them may be broken.
func isCanonicalJSON(lines [][]byte) bool {
	for _, line := range lines {
		var scan jsonScanner
		if !scan.open(line) {
			continue
		}
		found := 0
		for first := true; ; first = false {
			key, _, _, ok := scan.member(first)
			if !ok {
				break
			}
			if isRequired(string(key)) {
				found++
			}
		}
		if scan.done() && found == len(requiredColumns()) {
			return true
		}
	}
	return false
}
