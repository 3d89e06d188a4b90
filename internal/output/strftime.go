package output

import (
	"strconv"
	"strings"
	"time"
)

// maxStrftimeWidth bounds the width in a conversion such as %9999999d.
const maxStrftimeWidth = 1_000_000

// conversion is one % conversion of strftime with what stands between the
// percent sign and its letter, in the manner of glibc.
type conversion struct {
	text  string // as written
	pad   byte   // '_' blanks, '-' none, '0' zeros; 0 is the letter's own way
	upper bool   // the flag ^
	swap  bool   // the flag #
	lower bool
	width int  // -1 when there is none
	era   byte // the modifier E or O, which change nothing in the C locale
}

// appendStrftime formats t as strftime does in the C locale, with glibc's
// flags and widths and BSD's %v and %+.
func appendStrftime(dst []byte, layout string, t time.Time) []byte {
	for layout != "" {
		at := strings.IndexByte(layout, '%')
		if at < 0 {
			return append(dst, layout...)
		}
		dst = append(dst, layout[:at]...)
		c, letter, n := cutConversion(layout[at:])
		layout = layout[at+n:]
		if letter == 0 {
			dst = c.appendText(dst, c.text)
		} else {
			dst = c.append(dst, letter, t)
		}
	}
	return dst
}

// cutConversion reads the conversion at the front of s; letter is 0 when s ends
// inside it.
func cutConversion(s string) (c conversion, letter byte, n int) {
	c.width = -1
	i := 1
	for ; i < len(s) && strings.IndexByte("_-0^#", s[i]) >= 0; i++ {
		switch s[i] {
		case '^':
			c.upper = true
		case '#':
			c.swap = true
		default:
			c.pad = s[i]
		}
	}
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		c.width = min(max(c.width, 0)*10+int(s[i]-'0'), maxStrftimeWidth)
	}
	if i < len(s) && (s[i] == 'E' || s[i] == 'O') {
		c.era = s[i]
		i++
	}
	if i == len(s) {
		c.text = s
		return c, 0, i
	}
	c.text = s[:i+1]
	return c, s[i], i + 1
}

// composites are conversions that stand for others.
var composites = map[byte]string{
	'c': "%a %b %e %H:%M:%S %Y",
	'D': "%m/%d/%y",
	'F': "%Y-%m-%d",
	'r': "%I:%M:%S %p",
	'R': "%H:%M",
	'T': "%H:%M:%S",
	'v': "%e-%b-%Y",
	'x': "%m/%d/%y",
	'X': "%H:%M:%S",
	'+': "%a %b %e %H:%M:%S %Z %Y",
}

func (c *conversion) append(dst []byte, letter byte, t time.Time) []byte {
	// %#Eb is shown as written but in capitals, so # comes before E is refused.
	c.upper = c.upper || c.swap && (letter == 'b' || letter == 'h')
	if c.era == 'E' && strings.IndexByte("aAbBdDeFgGhHIjklmMSUvVwW+", letter) >= 0 ||
		c.era == 'O' && strings.IndexByte("aAcDFvxXY+", letter) >= 0 {
		return c.appendText(dst, c.text)
	}
	if layout, ok := composites[letter]; ok {
		return c.appendComposite(dst, layout, t)
	}
	if n, digits, blank, ok := number(letter, t); ok {
		if blank && c.pad != '0' && c.pad != '-' {
			c.pad = '_'
		}
		return c.appendNumber(dst, n, digits)
	}
	return c.appendWord(dst, letter, t)
}

// appendWord writes the conversions that are no numbers; what is no conversion
// at all is written as it is.
func (c *conversion) appendWord(dst []byte, letter byte, t time.Time) []byte {
	switch letter {
	case '%':
		return c.appendText(dst, "%")
	case 'n':
		return c.appendText(dst, "\n")
	case 't':
		return c.appendText(dst, "\t")
	case 'a', 'A', 'b', 'h', 'B':
		c.upper = c.upper || c.swap
		return c.appendText(dst, name(letter, t))
	case 'p', 'P':
		c.lower = letter == 'P' || c.swap
		if t.Hour() < 12 {
			return c.appendText(dst, "AM")
		}
		return c.appendText(dst, "PM")
	case 's':
		seconds := strconv.FormatInt(t.Unix(), 10)
		return append(c.appendPad(dst, len(seconds)), seconds...)
	case 'z':
		return c.appendNumber(c.appendText(dst, "+"), 0, 4)
	case 'Z':
		c.lower = c.swap
		return c.appendText(dst, "UTC")
	default:
		return c.appendText(dst, c.text)
	}
}

func name(letter byte, t time.Time) string {
	switch letter {
	case 'A':
		return t.Weekday().String()
	case 'a':
		return t.Weekday().String()[:3]
	case 'B':
		return t.Month().String()
	default:
		return t.Month().String()[:3]
	}
}

// number returns what a numeric conversion prints, in at least how many
// digits, and whether it pads with blanks.
func number(letter byte, t time.Time) (n, digits int, blank, ok bool) {
	switch letter {
	case 'Y':
		return t.Year(), 1, false, true
	case 'C':
		return floorDiv(t.Year(), 100), 1, false, true
	case 'y':
		return t.Year() - 100*floorDiv(t.Year(), 100), 2, false, true
	case 'm':
		return int(t.Month()), 2, false, true
	case 'd':
		return t.Day(), 2, false, true
	case 'e':
		return t.Day(), 2, true, true
	case 'j':
		return t.YearDay(), 3, false, true
	case 'H':
		return t.Hour(), 2, false, true
	case 'k':
		return t.Hour(), 2, true, true
	case 'I':
		return (t.Hour()+11)%12 + 1, 2, false, true
	case 'l':
		return (t.Hour()+11)%12 + 1, 2, true, true
	case 'M':
		return t.Minute(), 2, false, true
	case 'S':
		return t.Second(), 2, false, true
	default:
		return weekNumber(letter, t)
	}
}

func weekNumber(letter byte, t time.Time) (n, digits int, blank, ok bool) {
	fromMonday := (int(t.Weekday()) + 6) % 7
	switch letter {
	case 'u':
		return fromMonday + 1, 1, false, true
	case 'w':
		return int(t.Weekday()), 1, false, true
	case 'U': // days before the first Sunday are week 0
		return (t.YearDay() + 6 - int(t.Weekday())) / 7, 2, false, true
	case 'W': // days before the first Monday are week 0
		return (t.YearDay() + 6 - fromMonday) / 7, 2, false, true
	}
	year, week := t.ISOWeek()
	switch letter {
	case 'G':
		return year, 1, false, true
	case 'g':
		return year - 100*floorDiv(year, 100), 2, false, true
	case 'V':
		return week, 2, false, true
	default:
		return 0, 0, false, false
	}
}

func floorDiv(a, b int) int {
	if a < 0 {
		return -((-a + b - 1) / b)
	}
	return a / b
}

// appendPad writes what brings n characters up to the width.
func (c *conversion) appendPad(dst []byte, n int) []byte {
	fill := byte(' ')
	if c.pad == '0' {
		fill = '0'
	}
	for ; n < c.width; n++ {
		dst = append(dst, fill)
	}
	return dst
}

func (c *conversion) appendText(dst []byte, text string) []byte {
	dst = c.appendPad(dst, len(text))
	switch {
	case c.lower:
		text = strings.ToLower(text) // names, which are ASCII
	case c.upper:
		text = string(upperASCII([]byte(text)))
	}
	return append(dst, text...)
}

// appendNumber pads n behind its sign; without padding a width still applies,
// in blanks.
func (c *conversion) appendNumber(dst []byte, n, digits int) []byte {
	text := strconv.Itoa(n)
	if c.pad == '-' {
		return append(c.appendPad(dst, len(text)), text...)
	}
	missing := max(digits, c.width) - len(text)
	fill := byte('0')
	if c.pad == '_' {
		fill = ' '
	} else if missing > 0 && n < 0 {
		dst = append(dst, '-')
		text = text[1:]
	}
	for ; missing > 0; missing-- {
		dst = append(dst, fill)
	}
	return append(dst, text...)
}

// appendComposite pads the whole; of the flags only ^ reaches inside.
func (c *conversion) appendComposite(dst []byte, layout string, t time.Time) []byte {
	inner := appendStrftime(nil, layout, t)
	if c.upper {
		inner = upperASCII(inner)
	}
	return append(c.appendPad(dst, len(inner)), inner...)
}

func upperASCII(b []byte) []byte {
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return b
}
