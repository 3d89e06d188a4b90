package output

import "strings"

// AppendCSV appends lines of fields as RFC 4180 has them, but ended by \n alone.
// A field is quoted only where it has to be.
func AppendCSV(dst []byte, lines [][]string) []byte {
	for _, fields := range lines {
		for i, f := range fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCSVField(dst, f, len(fields) == 1)
		}
		dst = append(dst, '\n')
	}
	return dst
}

func appendCSVField(dst []byte, f string, alone bool) []byte {
	if !strings.ContainsAny(f, ",\"\r\n") && (f != "" || !alone) {
		return append(dst, f...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(f, `"`, `""`)...)
	return append(dst, '"')
}
