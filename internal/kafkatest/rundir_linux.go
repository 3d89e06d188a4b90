package kafkatest

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
)

// runDir is this process's directory for brokers and registries: data, logs, certificates. A
// lock that the process holds tells the next one that it is in use.
type runDir struct {
	root     string // the cache directory of tests
	dir      string
	in       *install // nil until a broker is wanted
	certs    *Certificates
	keystore string
	unlock   func()
}

// newRunDir makes a run directory, removing those that killed processes left.
func newRunDir() (*runDir, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	root := filepath.Join(cache, "kcm-test")
	runs := filepath.Join(root, "run")
	if err := os.MkdirAll(runs, 0o700); err != nil {
		return nil, err
	}
	// Nobody may sweep between a new directory and its lock.
	unlock, err := lock(filepath.Join(root, "run.lock"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer unlock()
	sweep(runs)
	dir, err := os.MkdirTemp(runs, "")
	if err != nil {
		return nil, err
	}
	r := &runDir{root: root, dir: dir}
	if r.unlock, err = lock(filepath.Join(dir, "lock"), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, err
	}
	return r, r.certify()
}

// kafka finds or fetches Kafka; running.mu is held.
func (r *runDir) kafka(ctx context.Context) (*install, error) {
	var err error
	if r.in == nil {
		r.in, err = findInstall(ctx, r.root)
	}
	return r.in, err
}

func (r *runDir) certify() error {
	var err error
	if r.certs, err = NewCertificates(r.dir); err != nil {
		return err
	}
	key, err := os.ReadFile(r.certs.ServerKey)
	if err != nil {
		return err
	}
	cert, err := os.ReadFile(r.certs.ServerCert)
	if err != nil {
		return err
	}
	r.keystore = filepath.Join(r.dir, "server-both.pem")
	return os.WriteFile(r.keystore, append(key, cert...), 0o600)
}

func sweep(runs string) {
	dirs, err := os.ReadDir(runs)
	if err != nil {
		return
	}
	for _, d := range dirs {
		dir := filepath.Join(runs, d.Name())
		if unlock, err := lock(filepath.Join(dir, "lock"), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			_ = os.RemoveAll(dir)
			unlock()
		}
	}
}

func (r *runDir) remove() {
	_ = os.RemoveAll(r.dir)
	r.unlock()
}
