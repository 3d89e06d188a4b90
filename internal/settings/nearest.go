package settings

import (
	"slices"

	"github.com/kcm-cli/kcm/internal/fault"
)

// nearest returns the full name of a flag that is called like path's last word
// but stands elsewhere, or the key of the same level that is most like it; ""
// if nothing is near.
func (w walker) nearest(path []string) string {
	last := len(path) - 1
	var level []string
	for _, fl := range w.flags {
		p := fl.path()
		if CommandLineOnly(fl.Name) {
			continue
		}
		if p[len(p)-1] == path[last] {
			return fl.Label()
		}
		if len(p) > last && slices.Equal(p[:last], path[:last]) {
			level = append(level, p[last])
		}
	}
	return fault.Nearest(path[last], level)
}
