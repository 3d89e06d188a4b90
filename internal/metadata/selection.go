package metadata

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Selection is what the words of a command line select from a view.
type Selection struct {
	// Streams are in the order of the words, those of one pattern in the order
	// of the view; none is there twice. A CLUSTER/TOPIC is a stream named like
	// the topic, and may share that name with a stream of the metadata.
	Streams []*Stream
	Missing []Missing // words that select nothing now
	names   []string  // of the streams that there are
}

// Missing is a word that selects nothing.
type Missing struct {
	Word    string
	Nearest string // the nearest name there is; may be empty
	what    string // what there is none of
	name    string
}

// String tells it: no stream "ordres"; did you mean "orders"?
func (m Missing) String() string {
	s := fmt.Sprintf("no %s %q", m.what, m.name)
	if m.Nearest != "" {
		s += fmt.Sprintf(`; did you mean "%s"?`, m.Nearest)
	}
	return s
}

// Err returns a fault.Usage that names every missing word, nil if there is
// none. A run that follows waits instead.
func (s Selection) Err() error {
	if len(s.Missing) == 0 {
		return nil
	}
	all := make([]string, len(s.Missing))
	for i, m := range s.Missing {
		all[i] = m.String()
	}
	err := fault.New(fault.Usage, "%s", strings.Join(all, "; "))
	switch near := slices.ContainsFunc(s.Missing, func(m Missing) bool { return m.Nearest != "" }); {
	case near || len(s.names) == 0:
		return err
	case len(s.names) > manyNames:
		return err.WithHint("streams are %s and %d more; kcm describe lists them", strings.Join(s.names[:manyNames], ", "), len(s.names)-manyNames)
	default:
		return err.WithHint("streams are %s", strings.Join(s.names, ", "))
	}
}

// manyNames is how many streams a hint names at most.
const manyNames = 10

// Select finds what words name: streams, or CLUSTER/TOPIC, which is that topic
// alone whatever streams and roles say. With regex the words are RE2 patterns
// over whole stream names, and over topic names behind CLUSTER/. With all,
// words must be empty and every stream is selected. A word that selects nothing
// is no error here; a bad pattern or a bad mix is a fault.Usage. In an ad hoc
// view a word is a topic, or a pattern over topics, of every cluster.
func (v *View) Select(words []string, regex, all bool) (Selection, error) {
	var sel Selection
	switch {
	case all && len(words) > 0:
		return sel, fault.New(fault.Usage, "all streams and named streams exclude each other")
	case !all && len(words) == 0:
		return sel, fault.New(fault.Usage, "no stream is named").WithHint("name streams or CLUSTER/TOPIC, or take all with -a")
	case all && v.AdHoc:
		words, regex = []string{".*"}, true
	case all:
		sel.Streams = append(sel.Streams, v.Streams...)
		return sel, nil
	}
	s := selector{view: v, seen: map[*Stream]bool{}, words: map[string]bool{}}
	for _, w := range words {
		if s.words[w] {
			continue
		}
		s.words[w] = true
		if err := s.take(w, regex); err != nil {
			return Selection{}, err
		}
	}
	for _, st := range v.Streams {
		s.sel.names = append(s.sel.names, st.Name)
	}
	return s.sel, nil
}

type selector struct {
	view  *View
	sel   Selection
	seen  map[*Stream]bool
	words map[string]bool
}

func (s *selector) take(word string, regex bool) error {
	if found := s.view.Stream(word); found != nil && !regex {
		s.add(found)
		return nil
	}
	cluster, topic, scoped := strings.Cut(word, "/")
	if !scoped {
		topic = word
	}
	var t Topic
	if regex || scoped || s.view.AdHoc {
		var err error
		if t, err = topicWord(topic, regex); err != nil {
			return err
		}
	}
	switch c := s.view.Cluster(cluster); {
	case scoped && c != nil:
		s.add(newStream(t, []*Cluster{c}))
	case scoped:
		near := fault.Nearest(cluster, s.view.clusterNames())
		if near != "" {
			near += "/" + topic
		}
		s.miss(Missing{Word: word, Nearest: near, what: "cluster", name: cluster})
	case s.view.AdHoc:
		s.add(newStream(t, s.view.Clusters))
	case regex:
		s.pattern(word, t.Regexp)
	default:
		s.miss(Missing{Word: word, Nearest: s.nearest(word), what: "stream", name: word})
	}
	return nil
}

// topicWord reads a topic's name, or a pattern, from the command line.
func topicWord(word string, regex bool) (Topic, error) {
	if regex {
		t, err := Pattern(word)
		if err != nil {
			return t, fault.New(fault.Usage, "%q is no regular expression: %s", word, regexpReason(err, false))
		}
		return t, nil
	}
	if why := badTopic(word, ", and consume -r takes patterns"); why != "" {
		return Topic{}, fault.New(fault.Usage, "%q is no topic name: %s", word, why)
	}
	return Named(word), nil
}

// newStream makes the stream of a topic, or of every topic that a pattern
// matches, on some clusters.
func newStream(t Topic, clusters []*Cluster) *Stream {
	st := &Stream{Name: t.Name, ByTopic: t.Regexp != nil, Origin: Origin{File: "command line"}}
	if st.ByTopic {
		st.Name = t.String()
	}
	for _, c := range clusters {
		st.Sources = append(st.Sources, Source{Cluster: c.Name, Topics: []Topic{t}, Origin: st.Origin})
	}
	return st
}

func (s *selector) add(st *Stream) {
	if !s.seen[st] {
		s.seen[st] = true
		s.sel.Streams = append(s.sel.Streams, st)
	}
}

func (s *selector) miss(m Missing) { s.sel.Missing = append(s.sel.Missing, m) }

func (s *selector) pattern(word string, re *regexp.Regexp) {
	found := false
	for _, st := range s.view.Streams {
		if re.MatchString(st.Name) {
			found = true
			s.add(st)
		}
	}
	if !found {
		s.miss(Missing{Word: word, what: "stream matches", name: word})
	}
}

// nearest returns the stream that word most likely means, or, if word is a
// topic that some stream names, that topic as CLUSTER/TOPIC.
func (s *selector) nearest(word string) string {
	names := make([]string, len(s.view.Streams))
	for i, st := range s.view.Streams {
		names[i] = st.Name
	}
	if near := fault.Nearest(word, names); near != "" {
		return near
	}
	for _, st := range s.view.Streams {
		for _, src := range st.Sources {
			for _, t := range src.Topics {
				if t.Regexp == nil && t.Name == word {
					return src.Cluster + "/" + word
				}
			}
		}
	}
	return ""
}
