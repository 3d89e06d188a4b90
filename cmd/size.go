package cmd

import (
	"math"
	"strconv"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// units are the words that a size may end in.
var units = map[string]int64{
	"": 1, "b": 1,
	"k": 1000, "kb": 1000, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9,
	"ki": 1 << 10, "kib": 1 << 10, "mi": 1 << 20, "mib": 1 << 20, "gi": 1 << 30, "gib": 1 << 30,
}

// parseSize reads a number of bytes such as 512MiB, 1.5GB or 4096.
func parseSize(flag, text string) (int64, error) {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit, ok := units[strings.ToLower(text[len(number):])]
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || n <= 0 || n*float64(unit) >= math.MaxInt64 {
		return 0, fault.New(fault.Usage, "%s %q is no size", flag, text).WithHint("a size is such as 64MiB, 1.5GB or 4096")
	}
	return int64(n * float64(unit)), nil
}
