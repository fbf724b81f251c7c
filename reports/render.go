package reports

// File is one file of a report folder.
type File struct {
	Name  string
	Bytes []byte
}

// Files are the files of a report in the order in which they are made: report.md, results.json, report.html when asked for, then the figures.
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
	p := compose(doc)
	files := Files{{"report.md", writeMarkdown(p)}, {"results.json", results}}
	if o.HTML {
		html, err := writeHTML(p)
		if err != nil {
			return nil, err
		}
		files = append(files, File{"report.html", html})
	}
	for _, f := range figures(p.blocks) {
		svg, err := f.svg()
		if err != nil {
			return nil, err
		}
		files = append(files, File{f.name + ".svg", svg})
		if o.PNG {
			png, err := f.png()
			if err != nil {
				return nil, err
			}
			files = append(files, File{f.name + ".png", png})
		}
	}
	return files, nil
}
