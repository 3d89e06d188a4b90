package kafkatest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"syscall"
)

// process is a program that the kernel kills when this test binary ends,
// whatever way it ends.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.run(started)
	return p, <-started
}

// run keeps its thread for as long as the process runs: the parent-death signal
// comes when the thread that started the process ends, not the whole program.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait()
	}
	close(p.done)
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// kill ends the process at once and returns when it is gone.
func (p *process) kill() {
	_ = p.signal(syscall.SIGKILL)
	<-p.done
}

// output runs a program in dir to its end and returns its standard output; an
// error carries what it said.
func output(ctx context.Context, stdin io.Reader, dir, program string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, stdin, &stdout, &stderr
	p, err := startProcess(cmd)
	if err != nil {
		return "", err
	}
	<-p.done
	if !cmd.ProcessState.Success() {
		return stdout.String(), fmt.Errorf("%s: %s: %s%s", program, cmd.ProcessState, tail(stdout.String()), tail(stderr.String()))
	}
	return stdout.String(), nil
}

// tail returns the end of a long text.
func tail(s string) string {
	const most = 4000
	if len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return s
}
