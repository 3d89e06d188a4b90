package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/fault"
)

// ReadProperties reads a properties file. Its relative paths are relative to
// its own directory.
func ReadProperties(path string) ([]Property, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.New(fault.Usage, "%s", fileTrouble(err))
	}
	list, err := ParseProperties(data, filepath.Base(path))
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Dir = filepath.Dir(path)
	}
	return list, nil
}

// ParseProperties reads text in the format of java.util.Properties: `#` and `!`
// comments, `=`, `:` or blanks behind the key, backslash escapes, lines
// continued with a backslash; ${} means nothing in it. Of a key that is written
// twice the last one counts and comes back alone. Text that is not UTF-8 is
// taken for ISO 8859-1, as Java does with all of it. name stands in the origins.
//
// A parser of our own: the library at hand loses continuation lines that end in
// CR LF, pairs of \u escapes, and the line numbers.
func ParseProperties(data []byte, name string) ([]Property, error) {
	text := decodeText(data)
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	var out []Property
	at := map[string]int{}
	for i := 0; i < len(lines); {
		logical, n := joinLines(lines[i:])
		origin := fmt.Sprintf("%s:%d", name, i+1)
		i += n
		if logical == "" || logical[0] == '#' || logical[0] == '!' {
			continue
		}
		rawKey, rawValue := cutProperty(logical)
		key, err1 := unescape(rawKey)
		value, err2 := unescape(rawValue)
		if err1 != nil || err2 != nil {
			return nil, fault.New(fault.Usage, `%s: malformed \uXXXX escape`, origin)
		}
		p := Property{Key: key, Value: Secret(value), Origin: origin}
		if j, dup := at[key]; dup {
			out[j] = p
			continue
		}
		at[key] = len(out)
		out = append(out, p)
	}
	return out, nil
}

func decodeText(data []byte) string {
	if utf8.Valid(data) {
		return strings.TrimPrefix(string(data), "\ufeff")
	}
	runes := make([]rune, len(data))
	for i, b := range data {
		runes[i] = rune(b)
	}
	return string(runes)
}

const blanks = " \t\f"

// joinLines makes one logical line of the first of lines and those that continue
// it, and says how many it took. A comment is never continued.
func joinLines(lines []string) (string, int) {
	s := strings.TrimLeft(lines[0], blanks)
	if s == "" || s[0] == '#' || s[0] == '!' {
		return s, 1
	}
	n := 1
	for continued(s) {
		s = s[:len(s)-1]
		if n == len(lines) {
			break
		}
		s += strings.TrimLeft(lines[n], blanks)
		n++
	}
	return s, n
}

// continued reports whether s ends in an odd number of backslashes.
func continued(s string) bool {
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}

// cutProperty cuts a logical line, still escaped, into key and value.
func cutProperty(s string) (key, value string) {
	end := len(s)
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte("=:"+blanks, s[i]) >= 0 {
			end = i
			break
		}
	}
	rest := strings.TrimLeft(s[end:], blanks)
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], blanks)
	}
	return s[:end], rest
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			break
		}
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			r, n, err := unicodeEscape(s[i-1:])
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			i += n - 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

// unicodeEscape reads \uXXXX, or two of them that make one character, at the
// start of s and says how long it was.
func unicodeEscape(s string) (rune, int, error) {
	hi, err := hex4(s)
	if err != nil {
		return 0, 0, err
	}
	if utf16.IsSurrogate(hi) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if lo, err := hex4(s[6:]); err == nil {
			if r := utf16.DecodeRune(hi, lo); r != utf8.RuneError {
				return r, 12, nil
			}
		}
	}
	return hi, 6, nil
}

func hex4(s string) (rune, error) {
	if len(s) < 6 {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err
}

// fileTrouble says what is wrong with a file without the name of a system call.
func fileTrouble(err error) string {
	if pe, ok := asPathError(err); ok {
		return fmt.Sprintf("%s: %s", pe.Path, lowerFirst(pe.Err.Error()))
	}
	return err.Error()
}
