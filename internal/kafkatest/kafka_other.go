//go:build !linux

package kafkatest

import "testing"

// Ending a broker with its test binary, whatever way that ends, needs Linux.
const needsLinux = "Apache Kafka for tests runs on Linux only"

func sharedKafka(t testing.TB, _ string, _ int) backend {
	t.Helper()
	t.Fatal(needsLinux)
	return nil
}

func startOwnKafka(t testing.TB, _ string, _ Options) backend {
	t.Helper()
	t.Fatal(needsLinux)
	return nil
}

func runJava(t testing.TB, _ []byte, _ ...string) string {
	t.Helper()
	t.Fatal(needsLinux)
	return ""
}

func endKafka() {}
