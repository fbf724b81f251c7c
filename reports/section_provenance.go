package reports

import "strconv"

// provenance says what the report was made from and how to make it again.
func provenance(doc Document) []block {
	p := doc.Provenance
	t := columns("What", "Value")
	add := func(what, value string) {
		if value != "" {
			t.row(words(what), longName(value))
		}
	}
	add("switchback", p.Version)
	add("Commit", p.Commit)
	add("Go", p.GoVersion)
	add("DuckDB", p.DuckDB)
	add("Platform", p.Platform)
	add("Seed", strconv.FormatUint(doc.Method.Seed, 10))
	add("Configuration, SHA-256", p.ConfigHash)
	add("Schedule, SHA-256", p.ScheduleHash)
	add("Request log, hash of the sorted rows", p.LogHash)
	add("Price book of", p.PriceBook)
	blocks := []block{heading("Provenance"), tabular(t)}
	if len(p.Inputs) > 0 {
		blocks = append(blocks, tabular(inputTable(p.Inputs)))
	}
	if p.Command != "" {
		blocks = append(blocks, paragraph(words("The same bytes come again, on the same platform, from:")), block{kind: codeBlock, code: p.Command})
	}
	return blocks
}

func inputTable(inputs []Input) table {
	t := columns("File", "Format", ">Bytes", ">Rows", ">Rejected", "SHA-256")
	for _, in := range inputs {
		t.row(name(in.Path), name(in.Format), words(whole(in.Bytes)), words(whole(in.Rows)), words(whole(in.Rejects)), name(in.SHA256))
	}
	return t
}

// longName is name without the cut: hashes are useless when cut.
func longName(s string) text { return text{{Text: oneLine(s), Style: code}} }
