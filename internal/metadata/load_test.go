package metadata

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/spec"
)

const docsPage = "../../docs/metadata.md"

// examples returns the YAML blocks of the page for users.
func examples(tb testing.TB) []string {
	tb.Helper()
	page, err := os.ReadFile(docsPage)
	if err != nil {
		tb.Fatal(err)
	}
	var all []string
	for i, block := range strings.Split(string(page), "```") {
		if text, ok := strings.CutPrefix(block, "yaml\n"); ok && i%2 == 1 {
			all = append(all, text)
		}
	}
	if len(all) < 3 {
		tb.Fatalf("%d examples on the page, want 3 or more", len(all))
	}
	return all
}

func exampleOf(tb testing.TB) string { return examples(tb)[1] }

func TestFirstExampleOfThePage(t *testing.T) {
	v, err := loadText(t, examples(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	want := &View{
		Clusters: []*Cluster{{Name: "east", Bootstrap: []string{"east-1:9092", "east-2:9092"}, Origin: Origin{"<stdin>", 2, 3}, Places: map[string]Origin{"bootstrap": {"<stdin>", 2, 21}}}},
		Streams: []*Stream{{Name: "orders", Origin: Origin{"<stdin>", 4, 3}, Sources: []Source{
			{Cluster: "east", clusterAt: Origin{"<stdin>", 6, 19}, Topics: []Topic{Named("orders")}, Origin: Origin{"<stdin>", 6, 9}},
		}}},
		Sources: []string{"standard input"},
	}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("got  %+v\nwant %+v", v, want)
	}
}

// TestFullExampleOfThePage checks every key that there is, one by one.
func TestFullExampleOfThePage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "kcm.yaml")
	if err := os.WriteFile(path, []byte(exampleOf(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"EAST_KEY_PASSWORD": "kp", "EAST_PASSWORD": "p", "SR_PASSWORD": "sp"}
	v, err := Load(t.Context(), []string{path}, Options{Getenv: func(k string) (string, bool) { s, ok := env[k]; return s, ok }})
	if err != nil {
		t.Fatal(err)
	}
	at := func(line, col int) Origin { return Origin{path, line, col} }
	wantEast := &Cluster{
		Name: "east", Bootstrap: []string{"east-1:9092", "east-2:9092"}, ClusterID: "4L6g3nShT-eMCtK--X86sw",
		TLS: &TLS{
			CA: PEM{Path: dir + "/ca.pem"}, Cert: PEM{Path: dir + "/client.pem"}, Key: PEM{Path: dir + "/client.key"},
			KeyPassword: "kp", ServerName: "kafka.east.example", InsecureSkipVerify: new(false), Origin: at(6, 7),
		},
		SASL:           &SASL{Mechanism: ScramSHA512, Username: "app", Password: "p", Origin: at(12, 11)},
		PropertiesFile: dir + "/east.properties",
		Properties:     []Property{{Key: "client.rack", Value: "az-1", Origin: at(14, 18)}},
		Places:         v.Cluster("east").Places, // see TestPlaces
		Dir:            dir,
		SchemaRegistry: &SchemaRegistry{URLs: []string{"https://sr.east:8081"}, Username: "app", Password: "sp", IDBytes: 4, Origin: at(15, 21)},
		Mirror:         &Mirror{Alias: "east", Separator: ".", InternalSeparator: true, Origin: at(16, 13)},
		Origin:         at(2, 3),
	}
	if got := v.Cluster("east"); !reflect.DeepEqual(got, wantEast) {
		t.Errorf("got  %+v\nwant %+v", got, wantEast)
	}
	orders := v.Stream("orders")
	if orders == nil || orders.Key != "string" || orders.Value != "avro" || len(orders.Sources) != 2 {
		t.Fatalf("orders is %+v", orders)
	}
	east, west := orders.Sources[0], orders.Sources[1]
	pattern, err := Pattern("orders-(eu|us)")
	if err != nil {
		t.Fatal(err)
	}
	newYear := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"east's topics", east.Topics, []Topic{Named("orders"), pattern}},
		{"east's start", *east.Start, Spec{"earliest", spec.Bound{Kind: spec.Start}, at(27, 16)}},
		{"east's stop", *east.Stop, Spec{"@2027-01-01", spec.Bound{Kind: spec.Time, N: newYear}, at(28, 15)}},
		{"east's role", east.Role, Draining},
		{"east's isolation", east.Isolation, Isolation("")},
		{"west's role", west.Role, Active},
		{"west's isolation", west.Isolation, ReadCommitted},
		{"west's cutover", *west.Cutover, Cutover{"east", map[string]map[int32]Cut{"orders": {0: {243, 301}, 1: {957, 1012}}}, at(33, 18)}},
		{"west's start", west.Start, (*Spec)(nil)},
		{"sources", v.Sources, []string{path}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s is %+v, want %+v", c.what, c.got, c.want)
		}
	}
}

// flinkForm has the shape that Flink's own service writes: block style, lists
// at the column of their key, a null id.
const flinkForm = `- streamId: stream0
  clusterMetadataList:
  - clusterId: cluster0
    bootstrapServers: bootstrap-server-0:443
    topics:
    - topic0
    - topic1
  - clusterId: null
    bootstrapServers: bootstrap-server-1:443,bootstrap-server-2:443
    topics: [topic2]
- streamId: stream1
  clusterMetadataList:
  - clusterId: cluster0
    bootstrapServers: bootstrap-server-0:443
    topics: [topic4, topic4]
`

func TestFlinksForm(t *testing.T) {
	v, err := loadText(t, flinkForm)
	if err != nil {
		t.Fatal(err)
	}
	both := "bootstrap-server-1:443,bootstrap-server-2:443"
	got := fmt.Sprint(v.clusterNames(), v.Cluster("cluster0").Bootstrap, v.Cluster(both).Bootstrap)
	want := fmt.Sprint([]string{"cluster0", both}, []string{"bootstrap-server-0:443"}, strings.Split(both, ","))
	if got != want {
		t.Errorf("clusters %s, want %s", got, want)
	}
	if got, want := summary(v), "stream0: cluster0 [topic0 topic1], "+both+" [topic2]; stream1: cluster0 [topic4]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := v.Stream("stream1").Origin.String(), "<stdin>:11:13"; got != want {
		t.Errorf("stream1 is at %s, want %s", got, want)
	}
}

func summary(v *View) string {
	var streams []string
	for _, s := range v.Streams {
		var sources []string
		for _, src := range s.Sources {
			sources = append(sources, fmt.Sprint(src.Cluster, " ", src.Topics))
		}
		streams = append(streams, s.Name+": "+strings.Join(sources, ", "))
	}
	return strings.Join(streams, "; ")
}

// TestCredentialsForFlink merges a clusters: mapping with Flink's form in both
// orders.
func TestCredentialsForFlink(t *testing.T) {
	dir := t.TempDir()
	flink, creds := filepath.Join(dir, "flink.yaml"), filepath.Join(dir, "creds.yaml")
	text := `clusters: {cluster0: {sasl: {mechanism: plain, username: u, password: p}}}`
	for path, s := range map[string]string{flink: flinkForm, creds: text} {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, sources := range [][]string{{flink, creds}, {creds, flink}} {
		v, err := Load(t.Context(), sources, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := v.Cluster("cluster0")
		if fmt.Sprint(c.Bootstrap) != "[bootstrap-server-0:443]" || c.SASL == nil || c.SASL.Mechanism != Plain || c.Origin.File != creds {
			t.Errorf("%v: cluster0 is %+v", sources, c)
		}
	}
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"b.yaml":         "streams: {two: {sources: [{cluster: east, topics: [b]}]}}",
		"a.yml":          "streams: {one: {sources: [{cluster: east, topics: [a]}]}}",
		"real/c":         `clusters: {east: {bootstrap: "a:1"}}`,
		".hidden.yaml":   "broken: [",
		"notes.txt":      "broken: [",
		"below/sub.yaml": "broken: [",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real/c", filepath.Join(dir, "c.yaml")); err != nil {
		t.Fatal(err)
	}
	v, err := Load(t.Context(), []string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summary(v), "one: east [a]; two: east [b]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := v.Cluster("east").Origin.String(), filepath.Join(dir, "c.yaml")+":1:12"; got != want {
		t.Errorf("east is at %s, want %s", got, want)
	}
}

func TestManifests(t *testing.T) {
	// The Secret's data is the base64 of: clusters: {east: {bootstrap: "a:1"}}
	for name, text := range map[string]string{
		"config map": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\nimmutable: true\ndata:\n  notes: x\n" +
			"  a.yaml: |\n    clusters:\n      east: {bootstrap: \"a:1\"}\n  s.yml: |\n    streams: {s: {sources: [{cluster: east, topics: [t]}]}}\n",
		"secret": "kind: Secret\ndata: {a.yaml: Y2x1c3RlcnM6IHtlYXN0OiB7Ym9vdHN0cmFwOiAiYToxIn19}\n" +
			"stringData: {s.yaml: 'streams: {s: {sources: [{cluster: east, topics: [t]}]}}'}",
		"string data wins": "kind: Secret\ndata: {a.yaml: bm9uc2Vuc2U=}\nstringData: {a.yaml: 'clusters: {east: {bootstrap: \"a:1\"}}'," +
			" s.yaml: 'streams: {s: {sources: [{cluster: east, topics: [t]}]}}'}",
		"binary data and two documents": "kind: ConfigMap\nbinaryData: {a.yaml: Y2x1c3RlcnM6IHtlYXN0OiB7Ym9vdHN0cmFwOiAiYToxIn19}\n---\n" +
			"- {streamId: s, clusterMetadataList: [{clusterId: east, bootstrapServers: 'a:1', topics: [t]}]}",
		"list": "kind: List\nitems:\n- kind: ConfigMap\n  data: {a.yaml: 'clusters: {east: {bootstrap: \"a:1\"}}'}\n" +
			"- kind: Secret\n  stringData: {a.yaml: 'streams: {s: {sources: [{cluster: east, topics: [t]}]}}'}",
	} {
		t.Run(name, func(t *testing.T) {
			v, err := loadText(t, text)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(summary(v), " ", v.Cluster("east").Bootstrap); got != "s: east [t] [a:1]" {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestYAMLForms(t *testing.T) {
	for name, text := range map[string]string{
		"bom and crlf": "\xef\xbb\xbfclusters:\r\n  east:\r\n    bootstrap: a:1\r\n",
		"directive":    "%YAML 1.2\n---\nclusters: {east: {bootstrap: \"a:1\"}}\n...\n",
		"anchors":      "clusters:\n  west: &w {clusterId: x, bootstrap: &b [a:1]}\n  east: {<<: *w, bootstrap: *b}\n",
		"merge wins":   "clusters:\n  west: &w {clusterId: x, bootstrap: \"b:1\"}\n  east: {bootstrap: \"a:1\", <<: [*w]}\n",
		"tags":         "clusters: !!map {east: {bootstrap: !!seq [!!str \"a:1\"]}}",
		"flow in flow": "{clusters: {east: {bootstrap: [a:1]}}}",
		"block text":   "clusters:\n  east:\n    bootstrap: >-\n      a:1\n",
		"explicit key": "clusters:\n  ? east\n  : bootstrap: a:1\n",
		"json":         `{"clusters":{"east":{"bootstrap":"a:1","clusterId":"x"}}}`,
		"tabs":         "clusters:\t# a\tb\n  east:\t\n    bootstrap:\ta:1\t\n    sasl: {password: 'x\ty'}\n    clusterId: |\t# c\n      x\ty\n",
		"properties":   "clusters: {east: {bootstrap: \"a:1\", properties: {linger.ms: 5, enable.idempotence: true, x: \"\"}}}",
	} {
		t.Run(name, func(t *testing.T) {
			v, err := loadText(t, text)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(v.Cluster("east").Bootstrap); got != "[a:1]" {
				t.Errorf("bootstrap is %s", got)
			}
		})
	}
}

// TestNumbersAreSpecs: YAML takes some starts and stops for numbers.
func TestNumbersAreSpecs(t *testing.T) {
	for text, want := range map[string]spec.Bound{
		"42": {Kind: spec.Offset, N: 42}, "-5": {Kind: spec.End, N: -5}, "+5": {Kind: spec.Start, N: 5},
		`"@1767225600"`: {Kind: spec.Time, N: 1767225600000}, `"@-1h"`: {Kind: spec.Time, N: 1772542800000}, "end": {Kind: spec.End},
	} {
		v, err := loadText(t, `clusters: {east: {bootstrap: "a:1"}}`+"\nstreams: {s: {sources: [{cluster: east, topics: [t], start: "+text+", stop: "+text+"}]}}")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		src := v.Stream("s").Sources[0]
		if src.Start.Bound != want || src.Stop.Bound != want || src.Start.Text != strings.Trim(text, `"`) {
			t.Errorf("%s gives %+v and %+v, want %+v", text, src.Start, src.Stop, want)
		}
	}
}

func TestDecoders(t *testing.T) {
	for _, name := range append(decoderNames(), decoderSynonyms()...) {
		text := `clusters: {east: {bootstrap: "a:1"}}` + "\nstreams: {s: {key: " + name + ", sources: [{cluster: east, topics: [t]}]}}"
		v, err := loadText(t, text)
		if err != nil || v.Stream("s").Key != name || v.Stream("s").Value != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := Load(t.Context(), []string{"-"}, Options{Decoders: []string{"mine"}, Stdin: strings.NewReader("streams: {s: {key: json}}")})
	wantUsage(t, err, `<stdin>:1:20: key cannot be "json"; allowed are mine`)
}

func TestSecretsNeverShow(t *testing.T) {
	v, err := loadText(t, `clusters:
  east:
    bootstrap: a:1
    sasl: {mechanism: OAUTHBEARER, tokenEndpoint: "https://x", clientId: i, clientSecret: "${SECRET}", extensions: {a: S3cr3t}}
    tls: {ca: "-----BEGIN X S3cr3t", keyPassword: S3cr3t}
    schemaRegistry: {url: "http://u:S3cr3t@sr", password: S3cr3t}
    properties: {sasl.password: S3cr3t}
`)
	if err != nil {
		t.Fatal(err)
	}
	c := v.Cluster("east")
	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	shown := string(encoded)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown += fmt.Sprintf(verb, c.TLS) + fmt.Sprintf(verb, c.SchemaRegistry) + fmt.Sprintf(verb, c.Properties) + fmt.Sprintf(verb, *c.TLS)
	}
	if strings.Contains(shown, canary) || strings.Contains(shown, fmt.Sprintf("%x", canary)) {
		t.Errorf("a secret shows in %s", shown)
	}
	want := "S3cr3t S3cr3t -----BEGIN X S3cr3t S3cr3t-x"
	if got := strings.Join([]string{
		c.SchemaRegistry.Password.Reveal(), c.TLS.KeyPassword.Reveal(), c.TLS.CA.Text.Reveal(), c.Properties[2].Value.Reveal(),
	}, " "); got != want {
		t.Errorf("revealed %s, want %s", got, want)
	}
}

// TestWhatRegistriesShow: an address may hold a secret in its query.
func TestWhatRegistriesShow(t *testing.T) {
	v, err := loadText(t, `clusters: {east: {bootstrap: "a:1", schemaRegistry: {password: S3cr3t, url: "https://u:S3cr3t@a:1/x%2Fy/v7?apikey=S3cr3t#S3cr3t, http://b?S3cr3t"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	r := v.Cluster("east").SchemaRegistry
	if got, want := r.Shown(), []string{"https://a:1/x%2Fy/v7", "http://b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if r.URLs[0] != "https://a:1/x%2Fy/v7?apikey=S3cr3t#S3cr3t" {
		t.Error("what is asked lacks its query")
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if shown := fmt.Sprintf(verb, r); strings.Contains(shown, canary) {
			t.Errorf("a secret shows in %s", shown)
		}
	}
}

// TestRegistryCredentials: keys of their own go before the address's user-info,
// in any order.
func TestRegistryCredentials(t *testing.T) {
	for text, want := range map[string]string{
		`password: p, url: "http://u@sr"`:                "u:p",
		`url: "http://u:q@sr", password: p`:              "u:p",
		`username: v, password: p, url: "http://u:q@sr"`: "v:p",
		`url: "http://u:q@sr"`:                           "u:q",
		`username: "", password: p, url: "http://sr"`:    ":p",
		`username: v, url: "http://sr"`:                  "v:",
	} {
		v, err := loadText(t, `clusters: {east: {bootstrap: "a:1", schemaRegistry: {`+text+`}}}`)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if r := v.Cluster("east").SchemaRegistry; r.Username+":"+r.Password.Reveal() != want {
			t.Errorf("%s: %s:%s", text, r.Username, r.Password.Reveal())
		}
	}
}

func TestSASLBecomesProperties(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"mechanism: OAUTHBEARER, tokenEndpoint: 'https://h/t', clientId: i, clientSecret: s, scope: x, extensions: {a: 1, b: c}": "sasl.oauthbearer.token.endpoint.url=https://h/t sasl.oauthbearer.client.credentials.client.id=i sasl.oauthbearer.client.credentials.client.secret=s sasl.oauthbearer.scope=x sasl.oauthbearer.extensions=a=1,b=c client.rack=r",
		"mechanism: GSSAPI, principal: u@R, keytab: k.tab, serviceName: kafka":                                                   "sasl.kerberos.principal=u@R sasl.kerberos.keytab=" + dir + "/k.tab sasl.kerberos.service.name=kafka client.rack=r",
		`mechanism: AWS_MSK_IAM, profile: 'a"b', region: eu-1, roleArn: arn, roleSessionName: n`:                                 `sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="a\"b" awsStsRegion="eu-1" awsRoleArn="arn" awsRoleSessionName="n"; client.rack=r`,
		"mechanism: scram-sha-256, username: u, password: p":                                                                     "client.rack=r",
	} {
		path := filepath.Join(dir, "kcm.yaml")
		file := "clusters: {east: {bootstrap: 'a:1', sasl: {" + text + "}, properties: {client.rack: r}}}"
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := Load(t.Context(), []string{path}, Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, p := range v.Cluster("east").Properties {
			got = append(got, p.Key+"="+p.Value.Reveal())
		}
		all := strings.Join(got, " ")
		if all != want {
			t.Errorf("got  %s\nwant %s", all, want)
		}
	}
}

// TestRelativePaths: what a file names is relative to the file, and absolute in
// the view, also where the file's own path is relative.
func TestRelativePaths(t *testing.T) {
	t.Chdir(t.TempDir())
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"conf/kcm.yaml": `clusters: {east: {bootstrap: "a:1", tls: {ca: ca.pem, cert: ../c.pem, key: /k.pem}, propertiesFile: p/e.properties,` +
			` sasl: {mechanism: OAUTHBEARER, tokenFile: token}, schemaRegistry: {url: "http://sr", username: u, password: "file:pw"}}}`,
		"conf/pw": "secret\n",
	} {
		if err := errors.Join(os.MkdirAll("conf", 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	v, err := Load(t.Context(), []string{"conf/kcm.yaml"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := v.Cluster("east")
	got := []string{c.TLS.CA.Path, c.TLS.Cert.Path, c.TLS.Key.Path, c.PropertiesFile, c.SASL.TokenFile, c.SchemaRegistry.Password.Reveal(), c.Dir}
	want := []string{wd + "/conf/ca.pem", wd + "/c.pem", "/k.pem", wd + "/conf/p/e.properties", wd + "/conf/token", "secret", "conf"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got, want := c.Origin.String(), "conf/kcm.yaml:1:12"; got != want {
		t.Errorf("origin %s, want %s", got, want)
	}
}

// TestPlaces: a message about one value can say where it stands.
func TestPlaces(t *testing.T) {
	text := "clusters:\n  east:\n    bootstrap: [a:1]\n    tls: {ca: ca.pem,\n      insecureSkipVerify: false}\n    sasl:\n      mechanism: PLAIN\n      password: p\n    propertiesFile: e.properties\n"
	path := filepath.Join(t.TempDir(), "kcm.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := Load(t.Context(), []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := func(line, col int) Origin { return Origin{path, line, col} }
	want := map[string]Origin{
		"bootstrap": at(3, 16), "tls": at(4, 10), "tls.ca": at(4, 15), "tls.insecureSkipVerify": at(5, 27),
		"sasl": at(7, 7), "sasl.mechanism": at(7, 18), "sasl.password": at(8, 17), "propertiesFile": at(9, 21),
	}
	east := v.Cluster("east")
	if !reflect.DeepEqual(east.Places, want) {
		t.Errorf("got  %v\nwant %v", east.Places, want)
	}
	if skip := east.TLS.InsecureSkipVerify; skip == nil || *skip {
		t.Errorf("insecureSkipVerify: false is %v", skip)
	}
}
