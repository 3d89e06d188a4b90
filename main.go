// Kcm reads and describes streams that live on several Kafka clusters.
package main

import (
	"os"

	"github.com/kcm-cli/kcm/cmd"
)

func main() {
	os.Exit(cmd.Main(cmd.System(), os.Args[1:]))
}
