// Command profiled is kcm with a CPU profile, for `make profile`: its first
// argument is the file for the profile, the others are kcm's.
package main

import (
	"fmt"
	"os"
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
		return 0, fmt.Errorf("usage: profiled FILE ARGUMENTS-OF-KCM")
	}
	f, err := os.Create(args[0])
	if err != nil {
		return 0, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return 0, err
	}
	code = cmd.Main(cmd.System(), args[1:])
	pprof.StopCPUProfile()
	return code, f.Close()
}
