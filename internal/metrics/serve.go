package metrics

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kcm-cli/kcm/internal/fault"
)

// Listen takes an address such as :9090 or 127.0.0.1:0 for itself. Its errors
// are of kind fault.Usage.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fault.New(fault.Usage, "%s is no address to listen on", addr).WithHint("an address is such as :9090 or 127.0.0.1:9090; port 0 takes any that is free")
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if err == nil {
		return l, nil
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		err = errno
	}
	return nil, fault.New(fault.Usage, "cannot listen on %s: %w", addr, err)
}

// URL is where the metrics are to be found at an address that is listened on.
func URL(l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if ip := net.ParseIP(host); err != nil || ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port) + "/metrics"
}

// Serve answers scrapes until the function that it returns is called, which
// waits a moment for those that are under way.
func (m *Metrics) Serve(ctx context.Context, l net.Listener) (stop func()) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // it ends with stop
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		<-done
	}
}
