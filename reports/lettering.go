package reports

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	plottext "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// isWide tells the runes that take the room of two letters: East Asian ideographs, kana, hangul, full-width forms, and
// pictures. The embedded fonts have none of them; a viewer of an SVG takes them from a font of its own, where each is a
// square, and a PNG shows a box.
func isWide(r rune) bool {
	for _, block := range [][2]rune{
		{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6},
		{0x1f300, 0x1faff}, {0x20000, 0x3fffd},
	} {
		if r >= block[0] && r <= block[1] {
			return true
		}
	}
	return false
}

// letters is how wide a string is, in letters.
func letters(s string) int {
	n := 0
	for _, r := range s {
		n++
		if isWide(r) {
			n++
		}
	}
	return n
}

// wideText sets text of wide runes by the room that they take and not by that of the box which the font has in their place.
type wideText struct{ plottext.Handler }

func textHandler() plottext.Handler { return wideText{plot.DefaultTextHandler} }

// Box implements plottext.Handler.
func (h wideText) Box(s string, font plotfont.Font) (width, height, depth vg.Length) {
	width, height, depth = h.Handler.Box(s, font)
	return width + h.extra(s, font), height, depth
}

// extra is the room that the wide runes of a line take beyond what the font says.
func (h wideText) extra(line string, font plotfont.Font) vg.Length {
	wide := strings.Map(func(r rune) rune {
		if isWide(r) {
			return r
		}
		return -1
	}, line)
	if wide == "" {
		return 0
	}
	drawn, _, _ := h.Handler.Box(wide, font)
	return vg.Length(letters(wide)/2)*font.Size - drawn
}

// Draw implements plottext.Handler.
func (h wideText) Draw(c vg.Canvas, s string, sty plottext.Style, at vg.Point) {
	if sty.Rotation == 0 && !strings.Contains(s, "\n") {
		at.X += vg.Length(sty.XAlign) * h.extra(s, sty.Font)
	}
	h.Handler.Draw(c, s, sty, at)
}

// boxing is the canvas of a PNG. It draws a box for each rune that the font does not have, in the room that the rune takes.
type boxing struct{ *vgimg.Canvas }

// FillString implements vg.Canvas.
func (c boxing) FillString(face plotfont.Face, at vg.Point, s string) {
	const box = "□"
	var glyphs sfnt.Buffer
	s = strings.ToValidUTF8(s, box)
	begun := 0 // what of s is drawn
	for i, r := range s {
		if glyph, err := face.Face.GlyphIndex(&glyphs, r); err == nil && glyph != 0 {
			continue
		}
		c.Canvas.FillString(face, at, s[begun:i])
		at.X += face.Width(s[begun:i])
		begun = i + utf8.RuneLen(r)
		room := face.Width(string(r))
		if isWide(r) {
			room = face.Font.Size
		}
		c.Canvas.FillString(face, vg.Point{X: at.X + (room-face.Width(box))/2, Y: at.Y}, box)
		at.X += room
	}
	c.Canvas.FillString(face, at, s[begun:])
}
