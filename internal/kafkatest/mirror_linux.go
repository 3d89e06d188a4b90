package kafkatest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// runMirrorMaker runs MirrorMaker 2 until the test ends, and shows the end of what
// it said if the test fails.
func runMirrorMaker(t testing.TB, properties []byte) {
	t.Helper()
	in, err := openKafka(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"mm2.properties": properties, "log4j2.properties": []byte(log4j)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said := filepath.Join(dir, "mm2.log")
	log, err := os.Create(said) //nolint:gosec // in the test's own directory
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(in.java, "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.configurationFile=log4j2.properties", //nolint:gosec // Java
		"-cp", in.classpath, "org.apache.kafka.connect.mirror.MirrorMaker", "mm2.properties")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	p, err := startProcess(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if text, err := os.ReadFile(said); t.Failed() && err == nil { //nolint:gosec // in the test's own directory
			t.Logf("MirrorMaker 2 said: %s", tail(string(text)))
		}
	})
}
