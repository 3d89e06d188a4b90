package output

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// unescape replaces the escapes \t \n \r \\ and \xNN.
func unescape(s string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out.WriteByte(s[i])
			continue
		}
		c, n, err := cutEscape(s[i+1:])
		if err != nil {
			return "", err
		}
		out.WriteByte(c)
		i += n
	}
	return out.String(), nil
}

// cutEscape reads the escape that a backslash begins; s is what follows the
// backslash, and n of its bytes belong to the escape.
func cutEscape(s string) (c byte, n int, err error) {
	if s == "" {
		return 0, 0, errors.New(`a lone \ at the end; \\ is a backslash`)
	}
	switch s[0] {
	case 't':
		return '\t', 1, nil
	case 'n':
		return '\n', 1, nil
	case 'r':
		return '\r', 1, nil
	case '\\':
		return '\\', 1, nil
	case 'x':
		if len(s) >= 3 {
			if b, err := strconv.ParseUint(s[1:3], 16, 8); err == nil {
				return byte(b), 3, nil
			}
		}
		return 0, 0, errors.New(`\x needs two hexadecimal digits`)
	default:
		return 0, 0, fmt.Errorf(`unknown escape \%c; escapes are \t \n \r \\ \xNN`, []rune(s)[0])
	}
}
