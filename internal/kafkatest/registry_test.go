//go:build kafka

package kafkatest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/kafkatest"
)

// answer asks a registry, as user:password if that is not empty.
func answer(t *testing.T, r *kafkatest.SchemaRegistry, address, login string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if user, password, ok := strings.Cut(login, ":"); ok {
		req.SetBasicAuth(user, password)
	}
	cl := &http.Client{Transport: &http.Transport{TLSClientConfig: r.ClientConfig(), DisableKeepAlives: true}}
	resp, err := cl.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestRegistryKeepsSchemas(t *testing.T) {
	r := kafkatest.Registry(t, kafkatest.RegistryOptions{})
	subject := r.Name("orders-value")
	id, version := r.Register(subject, "AVRO", `"string"`)
	if version != 1 || id < 1 {
		t.Errorf("registered as id %d, version %d", id, version)
	}
	if again, version := r.Register(subject, "AVRO", `"string"`); again != id || version != 1 {
		t.Errorf("the same schema has id %d, version %d", again, version)
	}
	status, body := answer(t, r, r.URL()+"/subjects/"+subject+"/versions/1/schema", "")
	if status != http.StatusOK || body != `"string"` {
		t.Errorf("the schema is %d %s", status, body)
	}
	r.Delete(subject, 1, true)
	if status, body = answer(t, r, r.URL()+"/subjects/"+subject+"/versions?deleted=true", ""); status != http.StatusNotFound {
		t.Errorf("after it was deleted: %d %s", status, body)
	}
}

func TestRegistryWithAuthAndTLS(t *testing.T) {
	r := kafkatest.Registry(t, kafkatest.RegistryOptions{Auth: true, TLS: true})
	for _, tt := range []struct {
		base, login string
		status      int
	}{
		{r.URL(), "", http.StatusUnauthorized},
		{r.URL(), kafkatest.AppUser + ":wrong", http.StatusUnauthorized},
		{r.URL(), kafkatest.AppUser + ":" + kafkatest.AppPassword, http.StatusOK},
		{r.PlainURL(), kafkatest.AdminUser + ":" + kafkatest.AdminPassword, http.StatusOK},
	} {
		if status, body := answer(t, r, tt.base+"/subjects", tt.login); status != tt.status {
			t.Errorf("%s as %q: %d %s", tt.base, tt.login, status, body)
		}
	}
}

func TestRegistryComesBackWithWhatItHad(t *testing.T) {
	r := kafkatest.StartRegistry(t, kafkatest.RegistryOptions{})
	id, _ := r.Register("kept", "AVRO", `"string"`)
	r.Stop()
	if resp, err := http.Get(r.URL() + "/subjects"); err == nil {
		resp.Body.Close()
		t.Errorf("a stopped registry answers %s", resp.Status)
	}
	r.Start()
	if again, _ := r.Register("kept", "AVRO", `"string"`); again != id {
		t.Errorf("the schema has id %d, and had %d", again, id)
	}
}
