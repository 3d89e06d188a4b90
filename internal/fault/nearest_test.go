package fault

import "testing"

func TestNearest(t *testing.T) {
	words := []string{"json", "text", "raw", "kcat-json"}
	for _, c := range []struct{ word, want string }{
		{"jsn", "json"},
		{"jsno", "json"},
		{"jason", "json"},
		{"teext", "text"},
		{"kcatjson", "kcat-json"},
		{"avro", ""},
		{"", ""},
		{"json", "json"},
	} {
		if got := Nearest(c.word, words); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.word, got, c.want)
		}
	}
}
