package cmd

import (
	"os"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/output"
)

// checkStdout refuses to keep positions of records that go nowhere: with standard
// output closed by whoever started kcm, writes succeed all the same. Without
// positions nothing is lost that the next run would not read again.
func (o *consumeOptions) checkStdout() error {
	f, ok := o.readBy().(*os.File)
	if !ok || !o.stores() || !output.Replaced(f) {
		return nil
	}
	keeper := "group " + o.group.name
	if o.group.name == "" {
		keeper = o.files.state
	}
	return fault.New(fault.Usage, "standard output is closed: %s would count records as read that went nowhere", keeper).
		WithHint("-O FILE or --to CLUSTER keep them; a null device that is opened for writing only, as >/dev/null does, says that nobody wants them")
}
