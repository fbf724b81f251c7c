// Package reports renders the results of an experiment as Markdown, JSON, figures and one HTML page.
//
// The way of the data, in order:
//
//  1. The caller fills a [Document]: estimates, design, method, data health, provenance, and the
//     series behind the figures.
//  2. [Render] checks it, writes it as results.json ([Encode]; [Decode] reads it back), and composes
//     the report's pages: headings, sentences, tables, figures.
//  3. The same composed report is written as Markdown with SVG figures and, on request, as HTML and PNG.
//
// Nothing here reads a clock, a file or the network: the same Document gives the same bytes.
// Numbers are rounded only in what people read, by the width of their intervals. What is unknown is
// "n/a" or "not measurable from this log", never 0.
package reports
