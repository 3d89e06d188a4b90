package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// registryPath is where Apicurio Registry speaks Confluent's API.
const registryPath = "/apis/ccompat/v7"

// apicurio is one registry process.
type apicurio struct {
	mu      sync.Mutex
	dir     string
	argv    []string
	plain   int // ports
	secured int
	opts    RegistryOptions
	certs   *Certificates
	http    *http.Client
	p       *process // the last one started; nil before that
}

// sharedRegistry returns the binary's registry with those options.
func sharedRegistry(t testing.TB, opts RegistryOptions) registryServer {
	t.Helper()
	running.mu.Lock()
	defer running.mu.Unlock()
	if a := running.registries[opts]; a != nil {
		return a
	}
	a := startRegistry(t, opts)
	if running.registries == nil {
		running.registries = map[RegistryOptions]*apicurio{}
	}
	running.registries[opts] = a
	return a
}

func ownRegistry(t testing.TB, opts RegistryOptions) registryServer {
	t.Helper()
	running.mu.Lock()
	defer running.mu.Unlock()
	a := startRegistry(t, opts)
	t.Cleanup(a.end)
	return a
}

// startRegistry starts a registry; running.mu is held. A port that somebody
// took between the choice and the start is tried again.
func startRegistry(t testing.TB, opts RegistryOptions) *apicurio {
	t.Helper()
	run, err := openRunLocked()
	if err != nil {
		t.Fatal(err)
	}
	in, err := findRegistry(t.Context(), run.root)
	if err != nil {
		t.Fatal(err)
	}
	for {
		a, err := run.prepareRegistry(in, opts)
		if err != nil {
			t.Fatal(err)
		}
		err = a.start()
		if err == nil {
			return a
		}
		a.end()
		if !strings.Contains(err.Error(), "already in use") {
			t.Fatalf("registry: %v", err)
		}
	}
}

// prepareRegistry chooses ports and makes the command line.
func (r *runDir) prepareRegistry(in *registryInstall, opts RegistryOptions) (*apicurio, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(r.dir, "registry-")
	if err != nil {
		return nil, err
	}
	trust, err := r.certs.ClientConfig()
	if err != nil {
		return nil, err
	}
	a := &apicurio{
		dir: dir, plain: ports[0], secured: ports[1], opts: opts, certs: r.certs,
		http: &http.Client{Transport: &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}, Timeout: 5 * time.Second},
	}
	a.argv = append(in.argv(),
		"-Dquarkus.http.host=127.0.0.1", "-Dquarkus.http.port="+strconv.Itoa(ports[0]),
		// Without these two it listens on every address.
		"-Dquarkus.management.host=127.0.0.1", "-Dquarkus.management.port="+strconv.Itoa(ports[2]),
		"-Dapicurio.datasource.url=jdbc:h2:file:"+filepath.Join(dir, "schemas"))
	if opts.TLS {
		a.argv = append(a.argv, "-Dquarkus.http.ssl-port="+strconv.Itoa(ports[1]),
			"-Dquarkus.http.ssl.certificate.files="+r.certs.ServerCert, "-Dquarkus.http.ssl.certificate.key-files="+r.certs.ServerKey)
	}
	if opts.Auth {
		a.argv = append(a.argv, "-Dquarkus.http.auth.basic=true", "-Dapicurio.auth.role-based-authorization=true",
			"-Dquarkus.security.users.embedded.enabled=true", "-Dquarkus.security.users.embedded.plain-text=true")
		for user, password := range users() {
			role := map[string]string{AdminUser: "sr-admin", AppUser: "sr-readonly"}[user]
			a.argv = append(a.argv, "-Dquarkus.security.users.embedded.users."+user+"="+password, "-Dquarkus.security.users.embedded.roles."+user+"="+role)
		}
	}
	a.argv = append(a.argv, "-jar", in.jar)
	return a, nil
}

func (a *apicurio) address(secured bool) string {
	if secured {
		return "https://127.0.0.1:" + strconv.Itoa(a.secured) + registryPath
	}
	return "http://127.0.0.1:" + strconv.Itoa(a.plain) + registryPath
}

func (a *apicurio) security() *Certificates { return a.certs }

func (a *apicurio) start() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	log, err := os.OpenFile(a.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(a.argv[0], a.argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = a.dir, log, log
	if a.p, err = startProcess(cmd); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startPatience) //nolint:forbidigo // also a restart in clean-up, which no test's context covers
	defer cancel()
	return a.ready(ctx)
}

// ready waits until the list of subjects is answered.
func (a *apicurio) ready(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if a.answers(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it did not get ready: %w\n%s", ctx.Err(), a.said())
		case <-a.p.done:
			return fmt.Errorf("it ended: %s\n%s", a.p.cmd.ProcessState, a.said())
		case <-tick.C:
		}
	}
}

func (a *apicurio) answers(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.address(a.opts.TLS)+"/subjects", http.NoBody)
	if err != nil {
		return false
	}
	if a.opts.Auth {
		req.SetBasicAuth(AdminUser, AdminPassword)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// stop ends the process by itself, so that its file is whole.
func (a *apicurio) stop() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-a.p.done:
		return nil
	case <-time.After(startPatience):
		return errors.New("it did not end")
	}
}

func (a *apicurio) pause() error  { return a.p.signal(syscall.SIGSTOP) }
func (a *apicurio) resume() error { return a.p.signal(syscall.SIGCONT) }

// end kills the process: its data is thrown away anyway.
func (a *apicurio) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.p != nil {
		a.p.kill()
	}
	_ = os.RemoveAll(a.dir)
}

func (a *apicurio) logFile() string { return filepath.Join(a.dir, "registry.log") }

func (a *apicurio) said() string {
	text, err := os.ReadFile(a.logFile())
	if err != nil {
		return err.Error()
	}
	return tail(string(text))
}
