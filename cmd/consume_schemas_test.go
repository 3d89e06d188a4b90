package cmd

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/codec"
	"github.com/kcm-cli/kcm/internal/kafkatest"
	"github.com/kcm-cli/kcm/internal/metadata"
)

// TestRegistryOverMutualTLS: what the metadata says of a registry's TLS reaches it.
func TestRegistryOverMutualTLS(t *testing.T) {
	dir := t.TempDir()
	certs, err := kafkatest.NewCertificates(dir)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "app" || password != "pw" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprint(w, `{"schema":"\"int\""}`)
	}))
	if srv.TLS, err = certs.ServerConfig(true); err != nil {
		t.Fatal(err)
	}
	srv.StartTLS()
	defer srv.Close()

	for name, c := range map[string]struct{ tls, err string }{
		"with a certificate":         {fmt.Sprintf("{ca: %q, cert: %q, key: %q}", certs.CA, certs.ClientCert, certs.ClientKey), ""},
		"without one":                {fmt.Sprintf("{ca: %q}", certs.CA), "the TLS handshake fails"},
		"with the system's roots":    {"{}", "certificate"},
		"with paths from the file's": {"{ca: ca.pem, cert: client.pem, key: client.key}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for from, to := range map[string]string{certs.CA: "ca.pem", certs.ClientCert: "client.pem", certs.ClientKey: "client.key"} {
				data, err := os.ReadFile(from)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, to), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(dir, "kcm.yaml")
			text := fmt.Sprintf("clusters:\n  east:\n    bootstrap: h:1\n    schemaRegistry: {url: %q, username: app, password: pw, tls: %s}\n", srv.URL, c.tls)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			view, err := metadata.Load(t.Context(), []string{file}, metadata.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s := &schemas{ctx: t.Context(), tell: func(string, error) {}}
			client, err := s.connect(view.Cluster("east"))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			schema, err := client.Schema(codec.ID{Number: 7})
			switch {
			case c.err != "":
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v, want %q", err, c.err)
				}
			case err != nil:
				t.Error(err)
			default:
				if got, err := schema.AppendJSON(nil, []byte{6}); string(got) != "3" || err != nil {
					t.Errorf("%s, %v", got, err)
				}
			}
		})
	}
}
