package output

import "unicode/utf8"

// Exact is s as JSON and YAML show names that may be any bytes: as it is if it is
// UTF-8, else with the other bytes as \xNN, so that two names stay two.
func Exact(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	dst := make([]byte, 0, len(s)+8)
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, '\\', 'x', hexDigits[s[0]>>4], hexDigits[s[0]&15])
		} else {
			dst = append(dst, s[:size]...)
		}
		s = s[size:]
	}
	return string(dst)
}

// AppendJSONString appends s as a JSON string; bytes that are not UTF-8 become U+FFFD.
func AppendJSONString(dst []byte, s string) []byte { return appendJSONText(dst, []byte(s)) }
