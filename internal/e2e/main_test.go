//go:build kafka

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/cmd"
	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// usageFile names, in the environment, the file that a run leaves its usage in.
// A process that has it is kcm.
const usageFile = "E2E_USAGE_FILE"

func TestMain(m *testing.M) {
	if file := os.Getenv(usageFile); file != "" {
		code := cmd.Main(cmd.System(), os.Args[1:])
		leaveUsage(file)
		os.Exit(code)
	}
	os.Exit(kafkatest.M(m).Run())
}

// usage is what a run took.
type usage struct {
	Peak int64         // bytes of resident memory
	CPU  time.Duration // user and system
}

// leaveUsage writes what the process has taken so far. Its parent cannot find
// that out: to the kernel a child begins with the peak of whoever started it.
func leaveUsage(file string) {
	var u usage
	u.Peak = peakOf("self")
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil {
		u.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	text, err := json.Marshal(u)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		panic(err)
	}
}

// peakOf returns the highest resident memory of a process since it began, 0 if
// there is no such process.
func peakOf(pid string) int64 {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	line, _, _ := bytes.Cut(rest, []byte(" kB"))
	kb, _ := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	return kb << 10
}
