package kafkatest

import (
	"crypto/md5" //nolint:gosec // what GUIDs are made of
	"fmt"
	"net/http"
)

// schemaRules are what Schemas does beyond keeping schemas.
type schemaRules struct {
	levels    map[string]string // of subjects; of the registry under ""
	refused   map[string]string // subjects that take no new version, and why
	forbidden map[string]bool   // subjects that nobody may register versions of
	guids     string            // what GUIDs begin with; empty: schemas get none
	lies      map[int]string    // texts given for ids in place of what is stored
	buried    map[string]bool   // subjects that were deleted, and whether their versions are still given
}

// SetLevel sets the compatibility level of a subject, or with "" of the registry,
// which begins with BACKWARD. It is only told, not kept to.
func (s *Schemas) SetLevel(subject, level string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.levels == nil {
		s.levels = map[string]string{}
	}
	s.levels[subject] = level
}

// Refuse has it take no new version of a subject: 409, with a message.
func (s *Schemas) Refuse(subject, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused == nil {
		s.refused = map[string]string{}
	}
	s.refused[subject] = message
}

// Forbid has it forbid new versions of a subject: 403.
func (s *Schemas) Forbid(subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forbidden == nil {
		s.forbidden = map[string]bool{}
	}
	s.forbidden[subject] = true
}

// Lie has it give a text for an id that is not the schema's.
func (s *Schemas) Lie(id int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lies == nil {
		s.lies = map[int]string{}
	}
	s.lies[id] = text
}

// Bury deletes a subject, but not for good: it is listed on demand, and served
// says whether its versions are given on demand too.
func (s *Schemas) Bury(subject string, served bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buried == nil {
		s.buried = map[string]bool{}
	}
	s.buried[subject] = served
}

// hides reports that a request is about versions that are not given.
func (s *Schemas) hides(r *http.Request, path []string) bool {
	if len(path) < 2 || path[0] != "subjects" {
		return false
	}
	served, buried := s.buried[path[1]]
	return buried && (!served || r.URL.Query().Get("deleted") != "true")
}

// All lists what it has, in the order in which that came.
func (s *Schemas) All() (list []Schema) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.stored {
		list = append(list, o.Schema)
	}
	return list
}

// GiveGUIDs has schemas get GUIDs that begin with eight hexadecimal digits.
func (s *Schemas) GiveGUIDs(digits string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guids = digits
}

// guidOf makes a GUID of what a schema says.
func (s *Schemas) guidOf(n Schema) string {
	sum := fmt.Sprintf("%x", md5.Sum([]byte(n.Type+n.Text+fmt.Sprint(n.References)))) //nolint:gosec // as above
	return s.guids + "-" + sum[8:12] + "-" + sum[12:16] + "-" + sum[16:20] + "-" + sum[20:]
}

func (s *Schemas) getLevel(w http.ResponseWriter, subject []string) {
	name := ""
	if len(subject) > 0 {
		name = subject[0]
	}
	level, ok := s.levels[name]
	switch {
	case ok:
		answer(w, http.StatusOK, map[string]string{"compatibilityLevel": level})
	case name == "":
		answer(w, http.StatusOK, map[string]string{"compatibilityLevel": "BACKWARD"})
	default:
		notFound(w, 40408, "Subject '"+name+"' does not have subject-level compatibility configured")
	}
}
