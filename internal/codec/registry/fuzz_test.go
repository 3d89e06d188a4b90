package registry

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kcm-cli/kcm/internal/codec"
)

// Whatever a server answers, the client returns a schema or an error that is one
// line of text, in time.
func FuzzAnswer(f *testing.F) {
	f.Add(200, []byte(`{"schema":"\"string\"","schemaType":"AVRO","references":[{"name":"a","subject":"b","version":1}]}`), []byte(`{"schema":"x"}`))
	f.Add(200, []byte(`{"schema":null}`), []byte(``))
	f.Add(404, []byte(`{"error_code":40403,"message":"Schema 7 not found\n"}`), []byte(`<html>`))
	f.Add(500, []byte(`{"error_code":"50001"}`), []byte(`[]`))
	f.Add(200, []byte(`{"schema":"x","references":[{"name":"a","subject":"../..?x#y","version":-5}]}`), []byte(`{"schema":"x","references":[{"name":"b","subject":"../..?x#y","version":-5}]}`))
	f.Add(302, []byte(``), []byte(`{"schema":1}`))
	f.Fuzz(func(t *testing.T, status int, answer, reference []byte) {
		if status < 200 || status > 599 {
			return
		}
		s := stub{answers: map[string][]reply{"GET /schemas/ids/7": {{status: status, body: string(answer)}}}}
		c := client(t, Config{Cluster: "east", URLs: []string{"http://sr"}, Compile: compile, Wait: 20 * time.Millisecond})
		c.http.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "sr" {
				t.Errorf("asked %s", r.URL)
			}
			if strings.HasPrefix(r.URL.Path, "/subjects/") {
				return (&stub{every: &reply{body: string(reference)}}).RoundTrip(r)
			}
			return s.RoundTrip(r)
		})
		schema, err := c.Schema(codec.ID{Number: 7})
		c.Close()
		if (schema == nil) == (err == nil) {
			t.Fatalf("%v, %v", schema, err)
		}
		if err == nil {
			return
		}
		if text := err.Error(); text == "" || strings.ContainsAny(text, "\n\r\x00\x1b") || !utf8.ValidString(text) {
			t.Errorf("the error is %q", text)
		}
	})
}
