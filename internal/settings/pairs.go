package settings

import (
	"slices"
	"strings"
	"unicode"
)

// settlePairs adds up the pairs of all sources. A pair's key is the text left
// of its first "="; of one key in several sources the greatest source holds,
// and of one key twice in a source the last.
func settlePairs(o Options, f *file, fl Flag) Setting {
	s := Setting{Flag: fl}
	add := func(v Value) {
		key, _, _ := strings.Cut(v.Text, "=")
		s.Values = slices.DeleteFunc(s.Values, func(old Value) bool {
			oldKey, _, _ := strings.Cut(old.Text, "=")
			return oldKey == key
		})
		s.Values = append(s.Values, v)
	}
	for _, sc := range f.at(fl.path()) {
		add(Value{Text: sc.text, Source: File, Origin: sc.origin})
	}
	for _, v := range splitPairs(getenv(o, fl)) {
		v.Source, v.Origin = Env, "env "+fl.EnvName()
		add(v)
	}
	if fl.Given {
		for _, text := range fl.Values {
			add(Value{Text: text, Source: CommandLine, Origin: "flag"})
		}
	}
	return s
}

// splitPairs parts the text of a variable at line breaks or, if there are
// none, at the commas after which a new pair begins: values hold commas too
// (lists of protocols, quoted text in a JAAS line).
func splitPairs(text string) (list []Value) {
	if strings.Contains(strings.TrimSpace(text), "\n") {
		for _, line := range compact(strings.Split(text, "\n")) {
			list = append(list, Value{Text: line})
		}
		return list
	}
	secretive := false // a secret may go on behind the next comma
	for _, part := range splitNamed(text, ",") {
		key, _, _ := strings.Cut(part, "=")
		last := len(list) - 1
		doubtful := secretive && !isKnown(key)
		if doubtful && !strings.Contains(key, ".") && !isHarmless(keyOf(list[last])) {
			list[last].Text += "," + part
			continue
		}
		secretive = secretive || !isHarmless(key)
		list = append(list, Value{Text: part, Doubtful: doubtful})
	}
	return list
}

func keyOf(v Value) string {
	key, _, _ := strings.Cut(v.Text, "=")
	return key
}

// splitNamed parts text at every sep behind which a name and a "=" follow,
// outside of double quotes.
func splitNamed(text, sep string) []string {
	var list []string
	for part := range strings.SplitSeq(text, sep) {
		last := len(list) - 1
		if last >= 0 && (!beginsPair(part) || strings.Count(list[last], `"`)%2 == 1) {
			list[last] += sep + part
			continue
		}
		list = append(list, part)
	}
	return compact(list)
}

func compact(list []string) []string {
	for i, text := range list {
		list[i] = strings.TrimSpace(text)
	}
	return slices.DeleteFunc(list, func(text string) bool { return text == "" })
}

// beginsPair reports whether text begins with a key and a "=".
func beginsPair(text string) bool {
	key, _, ok := strings.Cut(strings.TrimSpace(text), "=")
	return ok && key != "" && !strings.ContainsFunc(key, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`"';{}`, r)
	})
}
