package jsonschema

import (
	"bytes"
	"errors"
	"strconv"
)

// The bounds of what is checked. Beyond them a check could take the stack or,
// as numbers are compared exactly, the time and memory of numbers like 1e999999.
const (
	maxDepth  = 500
	maxDigits = 1000 // of a number, and its exponent
)

var (
	errDeep = errors.New("nested deeper than " + strconv.Itoa(maxDepth) + " levels")
	errLong = errors.New("a number with more than " + strconv.Itoa(maxDigits) + " digits, or an exponent beyond that")
)

// withinBounds looks for nesting and numbers beyond the bounds in text, which is
// valid JSON.
func withinBounds(text []byte) error {
	depth := 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			i = behindString(text, i+1)
			continue
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return errDeep
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || '0' <= c && c <= '9':
			end := i + 1
			for end < len(text) && bytes.IndexByte([]byte("0123456789.eE+-"), text[end]) >= 0 {
				end++
			}
			if !sane(text[i:end]) {
				return errLong
			}
			i = end
			continue
		}
		i++
	}
	return nil
}

func behindString(text []byte, i int) int {
	for i < len(text) && text[i] != '"' {
		if text[i] == '\\' {
			i++
		}
		i++
	}
	return i + 1
}

// sane reports whether a number is small enough to be compared exactly.
func sane(number []byte) bool {
	if len(number) <= 4 {
		return true
	}
	if len(number) > maxDigits {
		return false
	}
	e := bytes.LastIndexAny(number, "eE")
	if e < 0 {
		return true
	}
	exponent, err := strconv.Atoi(string(number[e+1:]))
	return err == nil && -maxDigits <= exponent && exponent <= maxDigits
}
