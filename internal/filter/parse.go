package filter

import "encoding/json"

// parser makes the values that gojq works on of a JSON text that is known to be
// valid: the records that kcm writes itself. It takes a fraction of the time of
// encoding/json, and no digit is lost: what is no small integer stays as it is
// written.
//
// A value lives until the next one is parsed: objects and arrays are used again.
// gojq changes none, and keeps none when a run is over.
type parser struct {
	b     []byte
	i     int
	keys  map[string]string // one copy of each key that is seen again and again
	text  []byte
	words [256]any // strings seen lately, ready for use

	maps      []map[string]any
	lists     [][]any
	usedMaps  int
	usedLists int
}

const (
	manyKeys = 4096 // how many are remembered
	shortMap = 64   // members up to which an object is used again; lists alike
	shortKey = 48   // bytes up to which a string is remembered
)

// parse makes a value of b and keeps nothing of it.
func (p *parser) parse(b []byte) any {
	if p.keys == nil || len(p.keys) > manyKeys {
		p.keys = map[string]string{}
	}
	p.b, p.i, p.usedMaps, p.usedLists = b, 0, 0, 0
	return p.value()
}

func (p *parser) value() any {
	switch p.b[p.i] {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		return p.word(p.string())
	case 't':
		p.i += len("true")
		return true
	case 'f':
		p.i += len("false")
		return false
	case 'n':
		p.i += len("null")
		return nil
	default:
		return p.number()
	}
}

func (p *parser) object() any {
	at := p.usedMaps
	p.usedMaps++
	if at == len(p.maps) {
		p.maps = append(p.maps, map[string]any{})
	}
	m := p.maps[at]
	if len(m) > shortMap {
		m = map[string]any{}
		p.maps[at] = m
	}
	clear(m)
	if p.i++; p.b[p.i] == '}' {
		p.i++
		return m
	}
	for {
		key := p.key()
		p.i++ // the colon
		m[key] = p.value()
		p.i++ // a comma, or the end
		if p.b[p.i-1] == '}' {
			return m
		}
	}
}

func (p *parser) array() any {
	at := p.usedLists
	p.usedLists++
	if at == len(p.lists) {
		p.lists = append(p.lists, []any{})
	}
	list := p.lists[at][:0]
	if p.i++; p.b[p.i] == ']' {
		p.i++
		return list[:0:0]
	}
	for {
		list = append(list, p.value())
		p.i++ // a comma, or the end
		if p.b[p.i-1] == ']' {
			break
		}
	}
	if len(list) <= shortMap {
		p.lists[at] = list
	}
	// A list that is cut shows nothing of what is used again behind it.
	return list[:len(list):len(list)]
}

func (p *parser) key() string {
	text := p.string()
	key, ok := p.keys[string(text)]
	if !ok {
		key = string(text)
		p.keys[key] = key
	}
	return key
}

// word is text as a value. What stands in record after record, such as the name
// of the topic, is made once.
func (p *parser) word(text []byte) any {
	if len(text) == 0 || len(text) > shortKey {
		return string(text)
	}
	at := &p.words[text[0]^text[len(text)-1]<<4^byte(len(text))]
	if s, ok := (*at).(string); ok && s == string(text) {
		return *at
	}
	*at = string(text)
	return *at
}

// string reads a string; what it returns lives until the next one is read.
func (p *parser) string() []byte {
	end, escaped := stringEnd(p.b, p.i)
	content := p.b[p.i+1 : end-1]
	p.i = end
	if escaped {
		p.text = unescape(p.text[:0], content)
		return p.text
	}
	return content
}

func (p *parser) number() any {
	end := scalarEnd(p.b, p.i)
	text := p.b[p.i:end]
	p.i = end
	if n, ok := smallInt(text); ok && (n != 0 || text[0] != '-') {
		return n
	}
	return json.Number(text)
}
