//go:build !linux

package kafkatest

import "testing"

// Ending a process with its test binary, whatever way that ends, needs Linux.
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

func sharedRegistry(t testing.TB, _ RegistryOptions) registryServer {
	t.Helper()
	t.Fatal(needsLinux)
	return nil
}

func ownRegistry(t testing.TB, _ RegistryOptions) registryServer {
	t.Helper()
	t.Fatal(needsLinux)
	return nil
}

func runMirrorMaker(t testing.TB, _ []byte) {
	t.Helper()
	t.Fatal(needsLinux)
}

func endKafka() {}
