package kafkatest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// kafkaVersion is the Apache Kafka that pom.xml names.
const kafkaVersion = "4.3.1"

//go:embed pom.xml
var pom []byte

// install is an Apache Kafka on this machine: Java, the jars, and the first
// metadata of every new cluster.
type install struct {
	java       string
	classpath  string
	checkpoint string // as StorageTool format writes it: features, and the SCRAM users
}

// findInstall returns the Kafka of the cache directory, fetching it if it is not there.
func findInstall(ctx context.Context, root string) (*install, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("tests on Apache Kafka need Java 17 or later: %w", err)
	}
	dir := filepath.Join(root, fmt.Sprintf("kafka-%s-%08x", kafkaVersion, crc32.ChecksumIEEE(pom)))
	unlock, err := lock(filepath.Join(root, "fetch.lock"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := fetchInstall(ctx, java, dir); err != nil {
			return nil, err
		}
	}
	return openInstall(java, dir)
}

func openInstall(java, dir string) (*install, error) {
	jars, err := filepath.Glob(filepath.Join(dir, "jars", "*.jar"))
	if err != nil || len(jars) == 0 {
		return nil, fmt.Errorf("%s holds no jars: remove it to fetch them again", dir)
	}
	slices.Sort(jars)
	return &install{java: java, classpath: strings.Join(jars, ":"), checkpoint: filepath.Join(dir, "bootstrap.checkpoint")}, nil
}

// fetchInstall makes dir in one step, so that what is there is complete.
func fetchInstall(ctx context.Context, java, dir string) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("tests on Apache Kafka need Maven, once, to fetch its jars: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "fetching-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := os.WriteFile(filepath.Join(tmp, "pom.xml"), pom, 0o600); err != nil {
		return err
	}
	if _, err := output(ctx, nil, tmp, mvn, "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies",
		"-DoutputDirectory="+filepath.Join(tmp, "jars")); err != nil {
		return fmt.Errorf("fetch Kafka's jars: %w", err)
	}
	in, err := openInstall(java, tmp)
	if err != nil {
		return err
	}
	if err := in.format(ctx, tmp); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

// format has StorageTool write the first metadata once; it names neither a
// cluster nor a node, so that every cluster can start from a copy.
func (in *install) format(ctx context.Context, tmp string) error {
	props, data := filepath.Join(tmp, "format.properties"), filepath.Join(tmp, "formatted")
	text := "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:1\ncontroller.listener.names=C\n" +
		"listeners=P://127.0.0.1:2,C://127.0.0.1:1\nlistener.security.protocol.map=C:PLAINTEXT,P:PLAINTEXT\ninter.broker.listener.name=P\nlog.dirs=" + data + "\n"
	if err := os.WriteFile(props, []byte(text), 0o600); err != nil {
		return err
	}
	args := []string{"-cp", in.classpath, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", props}
	for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		for user, password := range users() {
			args = append(args, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, user, password))
		}
	}
	if _, err := output(ctx, nil, tmp, in.java, args...); err != nil {
		return fmt.Errorf("format Kafka's storage: %w", err)
	}
	return os.Rename(filepath.Join(data, "bootstrap.checkpoint"), in.checkpoint)
}

func users() map[string]string {
	return map[string]string{AdminUser: AdminPassword, AppUser: AppPassword}
}

// lock takes a file lock (LOCK_EX, perhaps with LOCK_NB) that ends with unlock
// or with the process.
func lock(file string, how int) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", file, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}
