package cmd

import (
	"context"
	"strings"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/offsets"
)

// ended is how a run ends whose plan was shown, or was not: what was done counts
// first, and is told even if nobody could read the table. printed is why it could not
// be written; nil: it was. moved is how many commits a plan that went well has changed.
func (d carried) ended(n *Notices, printed error, moved int64) error {
	switch {
	case printed == nil:
		return d.err
	case d.err != nil:
		n.Warnf("the table could not be written: %v", printed)
		return d.err
	case d.executed:
		// Failed promises that nothing was changed.
		return fault.New(fault.Partial, "%s changed, and read back, but the table could not be written: %w", count(moved, "commit"), printed)
	}
	return printed
}

// moves counts the changes of a plan that change something.
func moves(changes []offsets.Change) (n int64) {
	for i := range changes {
		if !changes[i].Keep {
			n++
		}
	}
	return n
}

// checkSnapshot refuses a snapshot that could not be kept.
func (f *changeFlags) checkSnapshot() error {
	if f.snapshot == "-" {
		return fault.New(fault.Usage, "--snapshot - is no file: standard output has the plan").WithHint("--snapshot FILE; ./- is a file called -")
	}
	return nil
}

// pasted is a file's name as an argument that can be pasted into a shell: of Windows
// if that is the system, else one of POSIX (2.2, Quoting).
func pasted(path, goos string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("./_-+,:@%", r) || r == '\\' && goos == "windows"
	}
	switch {
	case path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0:
		return path
	case goos == "windows":
		return `"` + path + `"`
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// refuseLacking looks what else is wrong with a plan of which a part is not there,
// and refuses it.
func refuseLacking(ctx context.Context, clusters map[string]*cluster.Cluster, changes []offsets.Change, lacking error) carried {
	if _, err := check(ctx, clusters, changes); err != nil {
		return carried{err: err}
	}
	kind := fault.Refused
	if fault.KindOf(lacking) == fault.Auth {
		kind = fault.Auth
	}
	return carried{err: fault.New(kind, "%w: nothing was changed", lacking).On(clusterOf(lacking))}
}
