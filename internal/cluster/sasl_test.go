package cluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

// firstStep is what the cluster's login sends first to b-1.example:9092.
func firstStep(t testing.TB, c *Cluster) (mechanism, sent string) {
	t.Helper()
	if c.login == nil {
		return "", ""
	}
	_, first, err := c.login.Authenticate(t.Context(), "b-1.example:9092")
	if err != nil {
		t.Fatal(err)
	}
	return c.login.Name(), string(first)
}

const (
	jaasPlain = `org.apache.kafka.common.security.plain.PlainLoginModule required username="ju" password="jp";`
	jaasScram = `org.apache.kafka.common.security.scram.ScramLoginModule required username="ju" password="jp" tokenauth=true;`
	jaasOAuth = `org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required `
)

func TestSASLSettings(t *testing.T) {
	for name, tc := range map[string]struct {
		sasl *SASL
		kv   []string
		mech string
		sent string // up to a nonce
	}{
		"off":                {nil, nil, "", ""},
		"explicit":           {&SASL{Mechanism: "PLAIN", Username: "u", Password: "p"}, nil, "PLAIN", "\x00u\x00p"},
		"librdkafka":         {nil, []string{"security.protocol=sasl_plaintext", "sasl.mechanisms=PLAIN", "sasl.username=u", "sasl.password=p"}, "PLAIN", "\x00u\x00p"},
		"Java":               {nil, []string{"security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", "sasl.jaas.config=" + jaasPlain}, "PLAIN", "\x00ju\x00jp"},
		"Java, shaded":       {nil, []string{"security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "sasl.jaas.config=kafkashaded." + jaasPlain}, "PLAIN", "\x00ju\x00jp"},
		"SCRAM token":        {nil, []string{"security.protocol=SASL_PLAINTEXT", "sasl.mechanism=SCRAM-SHA-256", "sasl.jaas.config=" + jaasScram}, "SCRAM-SHA-256", "n,,n=ju,r="},
		"SCRAM 512":          {&SASL{Mechanism: "scram-sha-512", Username: "a=b", Password: "p"}, nil, "SCRAM-SHA-512", "n,,n=a=3Db,r="},
		"explicit wins":      {&SASL{Mechanism: "PLAIN", Username: "u", Password: "p"}, []string{"sasl.mechanism=SCRAM-SHA-256", "sasl.jaas.config=" + jaasScram, "sasl.username=x"}, "PLAIN", "\x00u\x00p"},
		"password elsewhere": {&SASL{Mechanism: "PLAIN", Username: "u"}, []string{"sasl.password=p"}, "PLAIN", "\x00u\x00p"},
		"mechanism only":     {&SASL{Mechanism: "PLAIN"}, []string{"sasl.username=u", "sasl.password=p"}, "PLAIN", "\x00u\x00p"},
		"token":              {&SASL{Mechanism: "OAUTHBEARER", Token: "tok"}, nil, "OAUTHBEARER", "n,,\x01auth=Bearer tok\x01\x01"},
		"token, extensions":  {&SASL{Mechanism: "OAUTHBEARER", Token: "tok"}, []string{"sasl.oauthbearer.extensions=a=b, c=d"}, "OAUTHBEARER", "n,,\x01auth=Bearer tok\x01a=b\x01c=d\x01\x01"},
		"Strimzi's token":    {nil, []string{"security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER", "sasl.login.callback.handler.class=io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler", "sasl.jaas.config=" + jaasOAuth + `oauth.access.token="tok";`}, "OAUTHBEARER", "n,,\x01auth=Bearer tok\x01\x01"},
	} {
		t.Run(name, func(t *testing.T) {
			c := mustNew(t, Config{Bootstrap: []string{"h:1"}, SASL: tc.sasl, Properties: properties(tc.kv...)})
			mech, sent := firstStep(t, c)
			if mech != tc.mech || !strings.HasPrefix(sent, tc.sent) || mech == "PLAIN" && sent != tc.sent {
				t.Errorf("got %s %q, want %s %q", mech, sent, tc.mech, tc.sent)
			}
			if name == "SCRAM token" && !strings.HasSuffix(sent, ",tokenauth=true") {
				t.Errorf("no delegation token: %q", sent)
			}
		})
	}
}

func TestSASLErrors(t *testing.T) {
	t.Setenv("KRB5_CONFIG", "/no/such/krb5.conf")
	on := func(kv ...string) []string { return append([]string{"security.protocol=SASL_PLAINTEXT"}, kv...) }
	for want, kv := range map[string][]string{
		`east: sasl.mechanism (-X): "CRAM-MD5" is none of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI, AWS_MSK_IAM`: on("sasl.mechanism=CRAM-MD5"),
		"east: sasl.username: PLAIN needs a user name":                     on("sasl.mechanism=PLAIN"),
		"east: sasl.password: PLAIN needs a password":                      on("sasl.mechanism=PLAIN", "sasl.username=u"),
		"east: sasl.username (-X): sasl.mechanism is missing":              on("sasl.username=u", "sasl.password=p"),
		"east: sasl.jaas.config (-X): the semicolon at the end is missing": on("sasl.mechanism=PLAIN", `sasl.jaas.config=M required password="CANARY"`),
		"east: sasl.jaas.config (-X): login module x.M does not fit sasl.mechanism PLAIN, whose module is org.apache.kafka.common.security.plain.PlainLoginModule": on("sasl.mechanism=PLAIN", `sasl.jaas.config=x.M required password="CANARY";`),
		"east: sasl: OAUTHBEARER needs a token": on("sasl.mechanism=OAUTHBEARER"),
		"east: sasl.oauthbearer.token.endpoint.url (-X): a token endpoint is http, https or file, not ftp":                          on("sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url=ftp://u:CANARY@h/"),
		"east: sasl: the token endpoint needs a client id and a client secret":                                                      on("sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url=http://h/", "sasl.oauthbearer.client.id=i"),
		`east: sasl.oauthbearer.grant.type (-X): "password" is none of client_credentials`:                                          on("sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.grant.type=password"),
		"east: sasl.login.callback.handler.class (-X): kcm runs no Java classes and knows none of this name":                        on("sasl.mechanism=OAUTHBEARER", "sasl.login.callback.handler.class=com.example.Handler"),
		"east: sasl.oauthbearer.jwt.retriever.class (-X): kcm runs no Java classes and knows none of this name":                     on("sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.jwt.retriever.class=com.example.R"),
		"east: sasl: GSSAPI needs Kerberos' configuration: /no/such/krb5.conf: no such file or directory":                           on(),
		"east: sasl.jaas.config (-X): option awsSecret of the IAM login module is not supported":                                    on("sasl.mechanism=AWS_MSK_IAM", `sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required awsSecret="CANARY";`),
		"east: sasl.oauthbearer.assertion.file (-X): the JWT bearer grant is not supported; use client credentials or a token file": on("sasl.oauthbearer.assertion.file=x"),
	} {
		_, err := New(Config{Name: "east", Bootstrap: []string{"h:1"}, Properties: properties(kv...)})
		if err == nil || err.Error() != want || fault.KindOf(err) != fault.Usage {
			t.Errorf("%v\n got %v\nwant %s", kv, err, want)
		}
		if err != nil && strings.Contains(err.Error()+fault.HintOf(err), "CANARY") {
			t.Errorf("a secret shows: %v", err)
		}
	}
	_, err := New(Config{Name: "east", Bootstrap: []string{"h:1"}, SASL: &SASL{Username: "u", Password: "p"}, Origin: "kcm.yaml:7"})
	if err == nil || err.Error() != "east: sasl.mechanism (kcm.yaml:7): missing" {
		t.Errorf("no mechanism: %v", err)
	}
}

func TestTokenFileIsReadAgain(t *testing.T) {
	path := writeFile(t, "token", "one\n")
	c := mustNew(t, Config{Bootstrap: []string{"h:1"}, Properties: properties(
		"security.protocol=SASL_PLAINTEXT", "sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url=file://"+filepath.ToSlash(path))})
	for _, token := range []string{"one", "two"} {
		if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, sent := firstStep(t, c); sent != "n,,\x01auth=Bearer "+token+"\x01\x01" {
			t.Errorf("sent %q", sent)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, _, err := c.login.Authenticate(t.Context(), "h:1")
	err = c.Explain(err, "")
	if want := "east: cannot log in with OAUTHBEARER: " + path + ": no such file or directory"; err.Error() != want || fault.KindOf(err) != fault.Auth {
		t.Errorf("got %v", err)
	}
}

func TestUnsecuredToken(t *testing.T) {
	for _, kv := range [][]string{
		{"sasl.jaas.config=" + jaasOAuth + `unsecuredLoginStringClaim_sub="alice" unsecuredLoginExtension_x=y;`},
		{"enable.sasl.oauthbearer.unsecure.jwt=true", "sasl.oauthbearer.config=principal=alice scope=r", "sasl.oauthbearer.extensions=x=y"},
	} {
		c := mustNew(t, Config{Bootstrap: []string{"h:1"}, Properties: properties(append(kv, "security.protocol=SASL_PLAINTEXT", "sasl.mechanism=OAUTHBEARER")...)})
		_, sent := firstStep(t, c)
		token, ok := strings.CutSuffix(strings.TrimPrefix(sent, "n,,\x01auth=Bearer "), "\x01x=y\x01\x01")
		parts := strings.Split(token, ".")
		if !ok || len(parts) != 3 || parts[2] != "" {
			t.Fatalf("sent %q", sent)
		}
		claims, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil || !strings.Contains(string(claims), `"sub":"alice"`) {
			t.Errorf("claims %s, %v", claims, err)
		}
	}
}

// idp is a token endpoint.
type idp struct {
	mu     sync.Mutex
	asked  []string // user:password scope, of each request
	status int
	body   string
}

func (s *idp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, pass, _ := r.BasicAuth()
	s.asked = append(s.asked, fmt.Sprintf("%s:%s %s %s", user, pass, r.FormValue("grant_type"), r.FormValue("scope")))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(s.status)
	_, _ = w.Write([]byte(s.body))
}

func TestTokenEndpoint(t *testing.T) {
	for name, kv := range map[string][]string{
		"Java 4.1":   {"sasl.oauthbearer.client.credentials.client.id=id", "sasl.oauthbearer.client.credentials.client.secret=S3cr3t", "sasl.oauthbearer.scope=read"},
		"Java":       {"sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler", "sasl.jaas.config=" + jaasOAuth + `clientId="id" clientSecret="S3cr3t" scope="read";`},
		"librdkafka": {"sasl.oauthbearer.method=oidc", "sasl.oauthbearer.client.id=id", "sasl.oauthbearer.client.secret=S3cr3t", "sasl.oauthbearer.scope=read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &idp{status: 200, body: `{"access_token":"tok","expires_in":100}`}
			srv := httptest.NewServer(s)
			defer srv.Close()
			var mu sync.Mutex
			var sent []string
			b := &broker{id: "c1", mechanisms: []string{"OAUTHBEARER"}, onLogin: func(step []byte) {
				mu.Lock()
				defer mu.Unlock()
				sent = append(sent, string(step))
			}}
			c := mustNew(t, Config{Bootstrap: []string{listen(t, b.serve)}, Properties: properties(append(kv,
				"security.protocol=SASL_PLAINTEXT", "sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url="+srv.URL+"/token")...)})
			for range 2 {
				if _, err := c.probe(t.Context(), c.bootstrap[0]); err != nil {
					t.Fatal(err)
				}
			}
			want := "n,,\x01auth=Bearer tok\x01\x01"
			if !reflect.DeepEqual(sent, []string{want, want}) || !reflect.DeepEqual(s.asked, []string{"id:S3cr3t client_credentials read"}) {
				t.Errorf("sent %q, asked %q", sent, s.asked)
			}
		})
	}
}

func TestTokenIsRenewed(t *testing.T) {
	s := &idp{status: 200, body: `{"access_token":"tok","expires_in":100}`}
	srv := httptest.NewServer(s)
	defer srv.Close()
	b := &builder{cfg: Config{Name: "east", SASL: &SASL{Username: "a b", Password: "p&q"}}, p: &props{m: map[string]Property{}}}
	u := mustURL(t, srv.URL)
	e, err := b.endpoint(u, jaasEntry{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	e.now = func() time.Time { return now }
	for _, after := range []time.Duration{0, 79 * time.Second, 2 * time.Second} {
		now = now.Add(after)
		if token, err := e.token(t.Context()); err != nil || token != "tok" {
			t.Fatal(token, err)
		}
	}
	if len(s.asked) != 2 || s.asked[0] != "a b:p&q client_credentials " {
		t.Errorf("asked %q", s.asked)
	}
}

func TestTokenEndpointErrors(t *testing.T) {
	tlsServer := httptest.NewTLSServer(http.NotFoundHandler())
	defer tlsServer.Close()
	refused := closedPort(t)
	for name, tc := range map[string]struct {
		status int
		body   string
		url    string // instead of a server
		want   string
	}{
		"401":         {401, `{"error":"invalid_client","error_description":"no S3cr3t-CANARY"}`, "", "the token endpoint URL answers 401 Unauthorized: invalid_client no ***"},
		"500":         {500, "<html>", "", "the token endpoint URL answers 500 Internal Server Error"},
		"no token":    {200, `{}`, "", "the token endpoint URL: the answer holds no access token"},
		"no JSON":     {200, `<html>`, "", "the token endpoint URL: the answer holds no access token"},
		"redirect":    {302, "", "", "the token endpoint URL answers 302 Found"},
		"refused":     {0, "", "http://u:S3cr3t-CANARY@" + refused + "/t", "the token endpoint http://" + refused + "/t cannot be asked: dial tcp " + refused + ": connect: connection refused"},
		"certificate": {0, "", tlsServer.URL, "the token endpoint " + tlsServer.URL + " cannot be asked: tls: failed to verify certificate: x509: certificate signed by unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			url := tc.url
			if url == "" {
				srv := httptest.NewServer(&idp{status: tc.status, body: tc.body})
				defer srv.Close()
				url = srv.URL
			}
			b := &broker{id: "c1", mechanisms: []string{"OAUTHBEARER"}}
			c := mustNew(t, Config{Bootstrap: []string{listen(t, b.serve)}, Properties: properties(
				"security.protocol=SASL_PLAINTEXT", "sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url="+url,
				"sasl.oauthbearer.client.id=id", "sasl.oauthbearer.client.secret=S3cr3t-CANARY")})
			_, err := c.Connect(t.Context())
			want := "east: cannot log in with OAUTHBEARER: " + strings.ReplaceAll(tc.want, "URL", url)
			if err == nil || err.Error() != want || fault.KindOf(err) != fault.Auth {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestIAM(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "S3cr3t-CANARY")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	c := mustNew(t, Config{Bootstrap: []string{"h:1"}, Properties: properties(
		"security.protocol=SASL_SSL", "sasl.mechanism=AWS_MSK_IAM", "sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required;",
		"sasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler")})
	_, first, err := c.login.Authenticate(t.Context(), "b-1.x.abc.c2.kafka.eu-west-1.amazonaws.com:9098")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(first, &got); err != nil {
		t.Fatal(err)
	}
	if got["action"] != "kafka-cluster:Connect" || !strings.HasPrefix(got["x-amz-credential"], "AKID/") || !strings.HasSuffix(got["x-amz-credential"], "/eu-west-1/kafka-cluster/aws4_request") {
		t.Errorf("got %s", first)
	}
}

func TestIAMProfile(t *testing.T) {
	dir := t.TempDir()
	shared := filepath.Join(dir, "credentials")
	if err := os.WriteFile(shared, []byte("[team]\naws_access_key_id = TEAMKEY\naws_secret_access_key = s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"AWS_SHARED_CREDENTIALS_FILE": shared, "AWS_CONFIG_FILE": filepath.Join(dir, "config"), "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_REGION": "eu-west-1",
	} {
		t.Setenv(k, v)
	}
	login := func(profile string) (string, error) {
		c := mustNew(t, Config{Bootstrap: []string{"h:1"}, Properties: properties("security.protocol=SASL_SSL", "sasl.mechanism=AWS_MSK_IAM",
			"sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="+profile+";")})
		_, first, err := c.login.Authenticate(t.Context(), "kafka.internal:9098")
		return string(first), err
	}
	if first, err := login("team"); err != nil || !strings.Contains(first, "TEAMKEY/") || !strings.Contains(first, "/eu-west-1/") {
		t.Errorf("got %s, %v", first, err)
	}
	if _, err := login("nobody"); err == nil || !strings.Contains(err.Error(), "no AWS credentials") {
		t.Errorf("got %v", err)
	}
}

const krb5conf = "[libdefaults]\n default_realm = EXAMPLE.COM\n dns_lookup_kdc = false\n[realms]\n EXAMPLE.COM = {\n  kdc = 127.0.0.1:1\n }\n"

func TestKerberos(t *testing.T) {
	t.Setenv("KRB5_CONFIG", writeFile(t, "krb5.conf", krb5conf))
	missing := filepath.Join(t.TempDir(), "krb5cc")
	t.Setenv("KRB5CCNAME", "FILE:"+missing)
	build := func(kv ...string) (*Cluster, error) {
		return New(Config{Name: "east", Bootstrap: []string{"h:1"}, Properties: properties(append(kv, "security.protocol=SASL_PLAINTEXT")...)})
	}
	c, err := build()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	_, _, err = c.login.start(ctx, "h:1")
	err = c.Explain(err, "")
	if want := "east: cannot log in with GSSAPI: no ticket: " + missing + ": no such file or directory"; err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	junk := writeFile(t, "junk", "\x05\x04\x00\xff\x00")
	t.Setenv("KRB5CCNAME", junk)
	c, err = build()
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.login.start(ctx, "h:1")
	if err == nil || !strings.Contains(err.Error(), junk+" is") {
		t.Errorf("got %v", err)
	}
	const module = `sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true `
	for kv, want := range map[string]string{
		module + `keyTab="/no/such.keytab" principal="app@EXAMPLE.COM";`: "east: sasl.jaas.config (-X): /no/such.keytab: no such file or directory",
		module + `keyTab="` + junk + `" principal="app@EXAMPLE.COM";`:    "east: sasl.jaas.config (-X): " + junk + " is",
		module + `keyTab="/x";`:                "east: sasl.jaas.config (-X): a key table needs a principal",
		"sasl.kerberos.keytab=/no/such.keytab": "east: sasl.kerberos.keytab (-X): a key table needs a principal",
	} {
		if _, err := build(kv); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", kv, err, want)
		}
	}
	// A password: the name server of the realm refuses, which is no wrong password.
	c, err = New(Config{Name: "east", Bootstrap: []string{"h:1"}, SASL: &SASL{Mechanism: "GSSAPI", Username: "app", Password: "S3cr3t-CANARY"}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.login.start(ctx, "h:1")
	if err == nil || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("got %v", err)
	}
	c.Close()
}
