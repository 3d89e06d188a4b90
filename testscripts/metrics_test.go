package testscripts

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var metricsURL = regexp.MustCompile(`http://([^/\s]+)/metrics`)

func scrape(ts *testscript.TestScript, url string) []byte {
	resp, err := http.Get(url)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		ts.Fatalf("%s, %s", resp.Status, resp.Header)
	}
	return body
}

// addMetrics adds what looks at the metrics of a run in the background.
func addMetrics(add func(name string, atLeast, atMost int, run func(ts *testscript.TestScript, s *script, args []string))) {
	find := func(ts *testscript.TestScript, file string) []string {
		found := metricsURL.FindStringSubmatch(ts.ReadFile(file))
		if found == nil {
			ts.Fatalf("%s names no address of metrics", file)
		}
		return found
	}
	add("scrape", 2, -1, func(ts *testscript.TestScript, _ *script, args []string) {
		deadline := time.Now().Add(time.Minute)
		for {
			body := scrape(ts, find(ts, args[0])[0])
			missing := slices.DeleteFunc(slices.Clone(args[2:]), func(pattern string) bool {
				return regexp.MustCompile("(?m)" + pattern).Match(body)
			})
			if len(missing) == 0 {
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), body, 0o600))
				return
			}
			if time.Now().After(deadline) {
				ts.Fatalf("no match for %q in\n%s", missing, body)
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	add("taken", 1, 1, func(ts *testscript.TestScript, s *script, args []string) {
		s.set(ts, "TAKEN", find(ts, args[0])[1])
	})
}
