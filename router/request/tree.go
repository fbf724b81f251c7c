package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// value is a parsed JSON or TOML value that remembers its line.
type value struct {
	line   int
	is     kind
	text   string
	number float64
	truth  bool
	list   []value
	fields []field // in the order of the file
}

type field struct {
	name string
	value
}

type kind uint8

const (
	isNull kind = iota
	isText
	isNumber
	isBool
	isList
	isObject
)

var kindNames = [...]string{"null", "a string", "a number", "true or false", "a list", "an object"}

// maxDepth is how deep values may nest.
const maxDepth = 64

// parseTree parses JSON when the first character opens an object, otherwise TOML.
func parseTree(data []byte, file string) (value, error) {
	if trimmed := bytes.TrimLeft(data, " \t\r\n\ufeff"); len(trimmed) > 0 && trimmed[0] == '{' {
		return parseJSON(bytes.TrimPrefix(data, []byte("\ufeff")), file)
	}
	return parseTOML(data, file)
}

// jsonTree walks a JSON text token by token: the decoder's own structs neither know lines nor see repeated keys.
type jsonTree struct {
	data []byte
	d    *json.Decoder
	seen int // bytes of data counted …
	line int // … and the line reached
	file string
}

func parseJSON(data []byte, file string) (value, error) {
	t := jsonTree{data: data, d: json.NewDecoder(bytes.NewReader(data)), line: 1, file: file}
	t.d.UseNumber()
	v, err := t.value("", 0)
	if err != nil {
		return v, err
	}
	if _, err := t.d.Token(); !errors.Is(err, io.EOF) {
		return v, &FieldError{File: file, Line: t.at(), Problem: "something follows the end of the object"}
	}
	return v, nil
}

// at is the line where the decoder is.
func (t *jsonTree) at() int {
	offset := min(int(t.d.InputOffset()), len(t.data))
	t.line += bytes.Count(t.data[t.seen:offset], []byte("\n"))
	t.seen = offset
	return t.line
}

func (t *jsonTree) token() (json.Token, error) {
	token, err := t.d.Token()
	if err == nil {
		return token, nil
	}
	line := t.at()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line = 1 + bytes.Count(t.data[:min(int(syntax.Offset), len(t.data))], []byte("\n"))
	}
	problem := err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		problem = "the text ends too early"
	}
	return nil, &FieldError{File: t.file, Line: line, Problem: "not valid JSON: " + problem}
}

func (t *jsonTree) value(path string, depth int) (value, error) {
	token, err := t.token()
	if err != nil {
		return value{}, err
	}
	v := value{line: t.at()}
	if depth > maxDepth {
		return v, &FieldError{File: t.file, Line: v.line, Field: path, Problem: "nested too deeply"}
	}
	switch x := token.(type) {
	case nil:
	case bool:
		v.is, v.truth = isBool, x
	case string:
		v.is, v.text = isText, x
	case json.Number:
		v.is, v.text = isNumber, x.String()
		if v.number, err = x.Float64(); err != nil || math.IsInf(v.number, 0) {
			return v, &FieldError{File: t.file, Line: v.line, Field: path, Problem: fmt.Sprintf("%s is too large a number", x)}
		}
	case json.Delim:
		if x == '[' {
			v.is = isList
			for t.d.More() {
				item, err := t.value(fmt.Sprintf("%s[%d]", path, len(v.list)), depth+1)
				if err != nil {
					return v, err
				}
				v.list = append(v.list, item)
			}
		} else {
			v.is = isObject
			names := map[string]bool{}
			for t.d.More() {
				key, err := t.token()
				if err != nil {
					return v, err
				}
				name, line := fmt.Sprint(key), t.at()
				if names[name] {
					return v, &FieldError{File: t.file, Line: line, Field: join(path, name), Problem: "given twice"}
				}
				names[name] = true
				item, err := t.value(join(path, name), depth+1)
				if err != nil {
					return v, err
				}
				item.line = line
				v.fields = append(v.fields, field{name, item})
			}
		}
		_, err = t.token()
	}
	return v, err
}

func parseTOML(data []byte, file string) (value, error) {
	raw := map[string]any{}
	if _, err := toml.Decode(string(data), &raw); err != nil {
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			return value{}, &FieldError{File: file, Line: syntax.Position.Line, Field: syntax.LastKey, Problem: "not valid TOML: " + syntax.Message}
		}
		return value{}, &FieldError{File: file, Problem: "not valid TOML: " + err.Error()}
	}
	v, err := fromTOML(raw, "", tomlLines(data), 0, file, 0)
	return v, err
}

func fromTOML(raw any, path string, lines map[string]int, line int, file string, depth int) (value, error) {
	if l, ok := lines[path]; ok {
		line = l
	}
	v := value{line: line}
	if depth > maxDepth {
		return v, &FieldError{File: file, Line: line, Problem: "nested too deeply"}
	}
	list := func(n int, at func(int) any) error {
		v.is = isList
		for i := range n {
			item, err := fromTOML(at(i), fmt.Sprintf("%s[%d]", path, i), lines, line, file, depth+1)
			if err != nil {
				return err
			}
			v.list = append(v.list, item)
		}
		return nil
	}
	switch x := raw.(type) {
	case string:
		v.is, v.text = isText, x
	case bool:
		v.is, v.truth = isBool, x
	case int64:
		v.is, v.number, v.text = isNumber, float64(x), fmt.Sprint(x)
	case float64:
		v.is, v.number, v.text = isNumber, x, fmt.Sprint(x)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return v, &FieldError{File: file, Line: line, Field: path, Problem: fmt.Sprintf("%v is not a finite number", x)}
		}
	case time.Time:
		v.is, v.text = isText, x.Format(time.RFC3339)
	case []any:
		return v, list(len(x), func(i int) any { return x[i] })
	case []map[string]any:
		err := list(len(x), func(i int) any { return x[i] })
		return v, err
	case map[string]any:
		v.is = isObject
		names := make([]string, 0, len(x))
		for name := range x {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			item, err := fromTOML(x[name], join(path, name), lines, line, file, depth+1)
			if err != nil {
				return v, err
			}
			v.fields = append(v.fields, field{name, item})
		}
		sort.SliceStable(v.fields, func(i, j int) bool { return v.fields[i].line < v.fields[j].line })
	}
	return v, nil
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// tomlLines finds the line of each key, which the TOML library does not tell. It follows table headers and "key =" lines; a key that it misses,
// such as one inside an inline table, gets the line of the key around it.
func tomlLines(data []byte) map[string]int {
	lines, counts := map[string]int{}, map[string]int{}
	table := ""
	multi := "" // the quote that ends a multi-line string
	for i, line := range strings.Split(string(data), "\n") {
		text := strings.TrimSpace(line)
		if multi != "" {
			if strings.Contains(text, multi) {
				multi = ""
			}
			continue
		}
		switch {
		case strings.HasPrefix(text, "[["):
			name, _, _ := strings.Cut(text[2:], "]]")
			name = resolve(name, counts)
			table = fmt.Sprintf("%s[%d]", name, counts[name])
			counts[name]++
			lines[table] = i + 1
			if counts[name] == 1 {
				lines[name] = i + 1
			}
		case strings.HasPrefix(text, "["):
			name, _, _ := strings.Cut(text[1:], "]")
			table = resolve(name, counts)
			lines[table] = i + 1
		default:
			key, rest, ok := strings.Cut(text, "=")
			if !ok || strings.HasPrefix(text, "#") {
				continue
			}
			path := table
			for _, part := range keyParts(key) {
				path = join(path, part)
				if _, ok := lines[path]; !ok {
					lines[path] = i + 1
				}
			}
			for _, quote := range []string{`"""`, "'''"} {
				if strings.Count(rest, quote) == 1 {
					multi = quote
				}
			}
		}
	}
	return lines
}

// resolve turns a header such as models.endpoints into the path of its newest element: models[2].endpoints.
func resolve(header string, counts map[string]int) string {
	parts := keyParts(header)
	path := ""
	for i, part := range parts {
		path = join(path, part)
		if n := counts[path]; n > 0 && i < len(parts)-1 {
			path = fmt.Sprintf("%s[%d]", path, n-1)
		}
	}
	return path
}

func keyParts(key string) []string {
	parts := strings.Split(key, ".")
	for i := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(parts[i]), `"'`)
	}
	return parts
}
