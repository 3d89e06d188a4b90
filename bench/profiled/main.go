// Command profiled is kcm with a CPU profile and a profile of the memory at its
// highest, for `make profile`: its first argument is where they go, with .cpu and
// .heap added, the others are kcm's.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/kcm-cli/kcm/cmd"
)

func main() {
	code, err := profile(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "profiled:", err)
		os.Exit(2)
	}
	os.Exit(code)
}

func profile(args []string) (code int, err error) {
	if len(args) < 2 {
		return 0, errors.New("usage: profiled FILE ARGUMENTS-OF-KCM")
	}
	runtime.MemProfileRate = 64 << 10
	heap := watchHeap()
	f, err := os.Create(args[0] + ".cpu")
	if err != nil {
		return 0, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return 0, err
	}
	code = cmd.Main(cmd.System(), args[1:])
	pprof.StopCPUProfile()
	return code, errors.Join(f.Close(), heap.save(args[0]+".heap"))
}
