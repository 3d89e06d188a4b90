package files

import (
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"
)

// safe makes a name of a cluster, topic or stream one name of a file: it never
// leads to another directory, is never hidden, and no two names become one.
// What may not stand there is written as %XX, as in a URL.
func safe(name string) string {
	if name == "" {
		return "%" // which no other name becomes
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		if bad(r, n, i == 0, i+n == len(name)) || i == 0 && runtime.GOOS == "windows" && isDevice(name) {
			for _, c := range []byte(name[i : i+n]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	return b.String()
}

// bad reports whether a character may not stand in a name: because it means
// something on some system, or cannot be seen.
func bad(r rune, size int, first, last bool) bool {
	switch {
	case r == utf8.RuneError && size <= 1, r < 0x20, r == 0x7f:
		return true
	case r == '.' || r == ' ':
		return first || last
	default:
		return strings.ContainsRune(`%/\:*?"<>|`, r)
	}
}

// isDevice reports whether Windows takes a name, whatever its extension, for
// that of a device.
func isDevice(name string) bool {
	name, _, _ = strings.Cut(strings.ToUpper(name), ".")
	switch name {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(name) == 4 && (strings.HasPrefix(name, "COM") || strings.HasPrefix(name, "LPT")) && name[3] >= '0' && name[3] <= '9'
}

// unnumbered escapes the dot before a number at the end of a name, which would
// look like a sequence number.
func unnumbered(name string) string {
	i := strings.LastIndexByte(name, '.')
	if i < 0 || strings.Trim(name[i+1:], "0123456789") != "" {
		return name
	}
	return name[:i] + "%2E" + name[i+1:]
}
