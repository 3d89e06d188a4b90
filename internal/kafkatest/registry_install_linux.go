package kafkatest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
)

// registryRelease is an Apicurio Registry of Maven Central.
type registryRelease struct {
	version string
	java    int    // the least version of Java that runs it
	sha256  string // of apicurio-registry-app, all, tar.gz
	jar     string // in it
}

// registryReleases are in the order in which they are preferred. The second one
// is for machines that have the Java that Kafka needs and no later one.
func registryReleases() []registryRelease {
	return []registryRelease{
		{"3.3.3", 21, "8bc6751c76d963734224b01d5e7f84ccb3cb61c87d3bd77c36c35f10a5cbed63", "quarkus-run.jar"},
		{"3.0.9", 17, "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43", "apicurio-registry-app-3.0.9-runner.jar"},
	}
}

// registryInstall is an Apicurio Registry on this machine, and the Java for it.
type registryInstall struct{ java, jar string }

// argv is the beginning of the command line.
func (in *registryInstall) argv() []string {
	return []string{in.java, "-Xms64m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"}
}

// findRegistry returns the registry of the cache directory that the Java of this
// machine runs, fetching it if it is not there.
func findRegistry(ctx context.Context, root string) (*registryInstall, error) {
	releases := registryReleases()
	java, r, err := javaFor(ctx, releases)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(root, "apicurio-"+r.version+"-"+r.sha256[:8])
	unlock, err := lock(filepath.Join(root, "fetch.lock"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := fetchRegistry(ctx, r, dir); err != nil {
			return nil, fmt.Errorf("fetch the schema registry for tests: %w", err)
		}
	}
	return &registryInstall{java: java, jar: filepath.Join(dir, r.jar)}, nil
}

// javaFor returns a Java of this machine and the first release that it runs: of
// $JAVA_HOME, $PATH and where Linux keeps them.
func javaFor(ctx context.Context, releases []registryRelease) (string, registryRelease, error) {
	var all []string
	if home := os.Getenv("JAVA_HOME"); home != "" {
		all = append(all, filepath.Join(home, "bin", "java"))
	}
	if java, err := exec.LookPath("java"); err == nil {
		all = append(all, java)
	}
	installed, err := filepath.Glob("/usr/lib/jvm/*/bin/java")
	if err != nil {
		return "", registryRelease{}, err
	}
	slices.Sort(installed)
	all = append(all, installed...)
	versions := map[string]int{}
	for _, r := range releases {
		for _, java := range all {
			if _, known := versions[java]; !known {
				versions[java] = javaVersion(ctx, java)
			}
			if versions[java] >= r.java {
				return java, r, nil
			}
		}
	}
	return "", registryRelease{}, fmt.Errorf("tests on a schema registry need Java %d or later (or %d, for an older registry): "+
		"there is none in $JAVA_HOME, $PATH or /usr/lib/jvm (Debian's package is openjdk-21-jre-headless)", releases[0].java, releases[1].java)
}

// javaVersion returns the feature release of a Java, such as 21; 0 if it does not run.
func javaVersion(ctx context.Context, java string) int {
	out, err := exec.CommandContext(ctx, java, "-XshowSettings:properties", "-version").CombinedOutput()
	if err != nil {
		return 0
	}
	found := regexp.MustCompile(`java\.specification\.version = ([0-9]+)`).FindSubmatch(out)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n
}

// fetchRegistry makes dir in one step, so that what is there is complete.
func fetchRegistry(ctx context.Context, r registryRelease, dir string) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("it needs Maven, once: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "fetching-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	// Later plugins want the parent of the artifact's pom as well, which Maven
	// Central does not have for each release.
	if _, err := output(ctx, nil, tmp, mvn, "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:2.10:copy",
		"-Dartifact=io.apicurio:apicurio-registry-app:"+r.version+":tar.gz:all", "-DoutputDirectory="+tmp, "-Dmdep.stripVersion=true"); err != nil {
		return err
	}
	archive := filepath.Join(tmp, "apicurio-registry-app-all.tar.gz")
	if err := checkSum(archive, r.sha256); err != nil {
		return err
	}
	made := filepath.Join(tmp, "made")
	if err := os.Mkdir(made, 0o700); err != nil {
		return err
	}
	if _, err := output(ctx, nil, tmp, "tar", "-xzf", archive, "-C", made); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(made, r.jar)); err != nil {
		return err
	}
	return os.Rename(made, dir)
}

func checkSum(file, want string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("%s has the SHA-256 %s, not %s", filepath.Base(file), got, want)
	}
	return nil
}
