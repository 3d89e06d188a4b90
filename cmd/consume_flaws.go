package cmd

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/kcm-cli/kcm/internal/codec/registry"
	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/record"
	"github.com/kcm-cli/kcm/internal/source"
)

// undecodable applies the policy to a record and reports whether it is written.
func (p *preparation) undecodable(r *record.Record, key, value error) bool {
	p.block.Undone++
	if p.block.Flaw == "" {
		p.block.Flaw = fmt.Sprintf("%s offset %d: %v", p.split, r.Offset, cmp.Or(key, value))
		p.w.s.sawFlaw(p.block.Flaw)
	}
	switch p.w.s.onDecode {
	case "skip":
		if unasked(key) || unasked(value) {
			p.err = p.decodeError(r.Offset, key, value).WithHint("%s", p.w.s.hintUnasked())
			return false
		}
		p.block.Dropped++
		p.seen = r.Offset + 1
		return false
	case "fail":
		p.err = source.EndRun(p.decodeError(r.Offset, key, value))
		return false
	default:
		if p.w.s.reencodes && (unasked(key) || unasked(value)) {
			p.err = p.decodeError(r.Offset, key, value)
			return false
		}
		return true
	}
}

// sawFlaw tells of the first record that cannot be decoded at once when nobody knows
// when the run ends.
func (s *consumeSink) sawFlaw(flaw string) {
	if s.tellFlaw != nil {
		s.flawed.Do(func() { s.tellFlaw(flaw) })
	}
}

// unasked reports that a registry did not answer, or refused to, or cannot be asked
// so: nothing is known about the record.
func unasked(err error) bool {
	kind := fault.KindOf(err)
	return err != nil && (kind == fault.Unreachable || kind == fault.Auth || errors.Is(err, registry.ErrNoLookup))
}

// hintUnasked says what to do about such records.
func (s *consumeSink) hintUnasked() string {
	if s.copies {
		return "skip leaves out records that are wrong themselves; --registry-copy copies none of the others without an answer of the registry"
	}
	return "skip leaves out records that are wrong themselves; --on-decode-error raw writes also these"
}

// decodeError has a kind of its own, whatever the cause is: a registry that cannot be
// reached is no cluster that cannot.
func (p *preparation) decodeError(offset int64, key, value error) *fault.Error {
	side, err := "value", value
	if key != nil {
		side, err = "key", key
	}
	return fault.New(fault.Failed, "%s: offset %d: the %s cannot be decoded: %w", p.split, offset, side, err).On(p.split.Cluster)
}
