package cluster

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kcm-cli/kcm/internal/fault"
)

func store(name string) string { return filepath.Join("testdata", "stores", name) }

func slurp(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(store(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func properties(kv ...string) []Property {
	var out []Property
	for _, s := range kv {
		k, v, _ := strings.Cut(s, "=")
		out = append(out, Property{Key: k, Value: Secret(v), Origin: "-X"})
	}
	return out
}

func tlsCluster(t testing.TB, kv ...string) (*Cluster, error) {
	t.Helper()
	c, err := New(Config{Name: "east", Bootstrap: []string{"h:1"}, Properties: properties(append(kv, "security.protocol=SSL")...)})
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

// oneLine takes the line breaks away, as a properties file does.
func oneLine(s string) string { return strings.Join(strings.Split(strings.TrimSpace(s), "\n"), "") }

func TestTrustStores(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"ca.pem", "client.pem"} {
		if err := os.WriteFile(filepath.Join(dir, n), []byte(slurp(t, n)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, kv := range map[string][]string{
		"JKS":                  {"ssl.truststore.location=" + store("trust.jks"), "ssl.truststore.password=changeit"},
		"JKS without password": {"ssl.truststore.location=" + store("trust.jks")},
		"PKCS12":               {"ssl.truststore.location=" + store("trust.p12"), "ssl.truststore.password=changeit", "ssl.truststore.type=PKCS12"},
		"PKCS12 called JKS":    {"ssl.truststore.location=" + store("trust.p12"), "ssl.truststore.password=changeit", "ssl.truststore.type=JKS"},
		"PEM":                  {"ssl.truststore.location=" + store("ca.pem"), "ssl.truststore.type=PEM"},
		"PEM text":             {"ssl.truststore.certificates=" + slurp(t, "ca.pem")},
		"PEM text on a line":   {"ssl.truststore.certificates=" + oneLine(slurp(t, "ca.pem"))},
		"ssl.ca.location":      {"ssl.ca.location=" + store("ca.pem")},
		"ssl.ca.pem":           {"ssl.ca.pem=" + slurp(t, "ca.pem")},
		"directory":            {"ssl.ca.location=" + dir},
		"key store":            {"ssl.truststore.location=" + store("key.jks"), "ssl.truststore.password=changeit"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := tlsCluster(t, kv...)
			if err != nil {
				t.Fatal(err)
			}
			b := &broker{id: "c1", tls: &tls.Config{Certificates: []tls.Certificate{fixtureIdentity(t)}}}
			addr := listen(t, b.serve)
			// The fixture's certificate names no host.
			c.dialer.tls.InsecureSkipVerify = true
			c.dialer.tls.VerifyConnection = func(cs tls.ConnectionState) error { return verifyChain(cs, c.dialer.tls.RootCAs) }
			conn, err := c.dialer.dial(t.Context(), addr)
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
		})
	}
}

func fixtureIdentity(t testing.TB) tls.Certificate {
	t.Helper()
	c, err := tls.LoadX509KeyPair(store("client.pem"), store("key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestKeyStores(t *testing.T) {
	pemStore := writeFile(t, "store.pem", slurp(t, "client.pem")+slurp(t, "key-pbes2.pem"))
	want := fixtureIdentity(t)
	for name, kv := range map[string][]string{
		"JKS":                  {"ssl.keystore.location=" + store("key.jks"), "ssl.keystore.password=changeit", "ssl.key.password=keypass1"},
		"PKCS12":               {"ssl.keystore.location=" + store("key.p12"), "ssl.keystore.password=changeit"},
		"PEM, encrypted":       {"ssl.keystore.location=" + pemStore, "ssl.key.password=keypass1", "ssl.keystore.type=PEM"},
		"PEM text":             {"ssl.keystore.certificate.chain=" + slurp(t, "client.pem"), "ssl.keystore.key=" + slurp(t, "key.pem")},
		"PEM text on a line":   {"ssl.keystore.certificate.chain=" + oneLine(slurp(t, "client.pem")), "ssl.keystore.key=" + oneLine(slurp(t, "key-pbes2.pem")), "ssl.key.password=keypass1"},
		"librdkafka, files":    {"ssl.certificate.location=" + store("client.pem"), "ssl.key.location=" + store("key.pem")},
		"librdkafka, old key":  {"ssl.certificate.location=" + store("client.pem"), "ssl.key.location=" + store("key-old.pem"), "ssl.key.password=keypass1"},
		"librdkafka, PEM text": {"ssl.certificate.pem=" + slurp(t, "client.pem"), "ssl.key.pem=" + slurp(t, "key.pem")},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := tlsCluster(t, kv...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.dialer.tls.GetClientCertificate(nil)
			if err != nil || !reflect.DeepEqual(got.Certificate[0], want.Certificate[0]) || !reflect.DeepEqual(got.PrivateKey, want.PrivateKey) {
				t.Errorf("another identity (%v)", err)
			}
		})
	}
}

func TestExplicitTLSWins(t *testing.T) {
	c := mustNew(t, Config{
		Bootstrap: []string{"h:1"}, Dir: filepath.Join("testdata", "stores"),
		TLS:        &TLS{CA: "ca.pem", Cert: "client.pem", Key: "key-pbes2.pem", KeyPassword: "keypass1", ServerName: "b.example"},
		Properties: properties("security.protocol=PLAINTEXT", "ssl.truststore.location=no-such-file", "ssl.keystore.location=no-such-file"),
	})
	if c.dialer.tls == nil || c.dialer.tls.ServerName != "b.example" || c.dialer.tls.RootCAs == nil || c.dialer.tls.GetClientCertificate == nil {
		t.Errorf("got %+v", c.dialer.tls)
	}
}

func TestTLSErrors(t *testing.T) {
	broken := writeFile(t, "broken.jks", "\xfe\xed\xfe\xed\x00\x00\x00\x02")
	text := writeFile(t, "text", "hello")
	other := keyPEM(t, newCA(t, "x").good(t))
	for want, kv := range map[string][]string{
		"east: ssl.truststore.location (-X): no-such.jks: no such file or directory":                                                                                           {"ssl.truststore.location=no-such.jks"},
		"east: ssl.truststore.location (-X): " + store("trust.jks") + ": the store's password is missing or wrong":                                                             {"ssl.truststore.location=" + store("trust.jks"), "ssl.truststore.password=S3cr3t-CANARY"},
		"east: ssl.truststore.location (-X): " + store("trust.p12") + ": the store's password is missing or wrong":                                                             {"ssl.truststore.location=" + store("trust.p12"), "ssl.truststore.password=S3cr3t-CANARY"},
		"east: ssl.truststore.location (-X): " + broken + ": the JKS file is damaged":                                                                                          {"ssl.truststore.location=" + broken},
		"east: ssl.truststore.location (-X): " + text + ": neither a JKS, a PKCS12 nor a PEM file":                                                                             {"ssl.truststore.location=" + text},
		"east: ssl.truststore.location (-X): " + store("key.pem") + ": there is no certificate in it":                                                                          {"ssl.truststore.location=" + store("key.pem")},
		"east: ssl.keystore.location (-X): " + store("key.jks") + ": the passphrase is missing or wrong":                                                                       {"ssl.keystore.location=" + store("key.jks"), "ssl.keystore.password=changeit"},
		"east: ssl.keystore.location (-X): " + store("key.jks") + ": the store's password is missing or wrong":                                                                 {"ssl.keystore.location=" + store("key.jks"), "ssl.keystore.password=S3cr3t-CANARY"},
		"east: ssl.keystore.location (-X): " + store("key.p12") + ": the store's password is missing or wrong":                                                                 {"ssl.keystore.location=" + store("key.p12")},
		"east: ssl.keystore.location (-X): " + store("trust.p12") + ": the store needs exactly one private key with its certificate":                                           {"ssl.keystore.location=" + store("trust.p12"), "ssl.keystore.password=changeit"},
		"east: ssl.truststore.location (-X): " + store("trust-openssl.p12") + ": a PKCS12 file in which Java would trust nothing (keytool -importcert makes one that it does)": {"ssl.truststore.location=" + store("trust-openssl.p12"), "ssl.truststore.password=changeit"},
		"east: ssl.keystore.location (-X): " + store("trust.jks") + ": there is no private key in it":                                                                          {"ssl.keystore.location=" + store("trust.jks"), "ssl.keystore.password=changeit"},
		"east: ssl.key.location (-X): " + store("key-pbes2.pem") + ": the passphrase is missing or wrong":                                                                      {"ssl.certificate.location=" + store("client.pem"), "ssl.key.location=" + store("key-pbes2.pem"), "ssl.key.password=S3cr3t-CANARY"},
		"east: ssl.key.pem (-X): the private key does not belong to the first certificate":                                                                                     {"ssl.certificate.location=" + store("client.pem"), "ssl.key.pem=" + other},
		"east: ssl.key.location (-X): a private key needs its certificate: ssl.keystore.certificate.chain or ssl.certificate.location":                                         {"ssl.key.location=" + store("key.pem")},
		"east: ssl.certificate.location (-X): a certificate needs its private key: ssl.keystore.key or ssl.key.location":                                                       {"ssl.certificate.location=" + store("client.pem")},
		`east: ssl.keystore.type (-X): "BCFKS" is none of JKS, PKCS12, PEM`:                                                                                                    {"ssl.keystore.type=BCFKS"},
		`east: ssl.enabled.protocols (-X): "SSLv3" is none of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3`:                                                                                {"ssl.enabled.protocols=SSLv3,TLSv1.2"},
		"east: ssl.enabled.protocols (-X): the versions must follow each other without a hole":                                                                                 {"ssl.enabled.protocols=TLSv1.1,TLSv1.3"},
		`east: ssl.cipher.suites (-X): cipher suite "HIGH" is not supported`:                                                                                                   {"ssl.cipher.suites=HIGH:!aNULL"},
		"east: ssl.cipher.suites (-X): none of these suites belongs to an enabled TLS version":                                                                                 {"ssl.cipher.suites=TLS_AES_128_GCM_SHA256", "ssl.protocol=TLSv1.2"},
		`east: ssl.endpoint.identification.algorithm (-X): "ldaps" is neither https nor empty`:                                                                                 {"ssl.endpoint.identification.algorithm=ldaps"},
		"east: ssl.crl.location (-X): revocation lists are not supported":                                                                                                      {"ssl.crl.location=x.crl"},
		"east: ssl.key.location (-X): " + store("key-pbes1.pem") + ": its encryption is not supported (only PBES2 supported)":                                                  {"ssl.certificate.location=" + store("client.pem"), "ssl.key.location=" + store("key-pbes1.pem"), "ssl.key.password=keypass1"},
		"east: ssl.key.location (-X): " + store("key-sha512.pem") + ": its encryption is not supported (unsupported hash function)":                                            {"ssl.certificate.location=" + store("client.pem"), "ssl.key.location=" + store("key-sha512.pem"), "ssl.key.password=keypass1"},
	} {
		_, err := tlsCluster(t, kv...)
		if err == nil || err.Error() != want || fault.KindOf(err) != fault.Usage {
			t.Errorf("%v\n got %v\nwant %s", kv[0], err, want)
		}
		if strings.Contains(want, "passphrase") && fault.HintOf(err) != "set ssl.key.password" {
			t.Errorf("%s: hint %q", want, fault.HintOf(err))
		}
	}
}

// TestTLSVerification: what is accepted of a certificate that is for another
// host, or of an authority that nobody trusts.
func TestTLSVerification(t *testing.T) {
	ca := newCA(t, "Test CA")
	elsewhere := ca.issue(t, "kafka.example", time.Now().Add(time.Hour))
	addr := listen(t, (&broker{id: "c1", tls: &tls.Config{Certificates: []tls.Certificate{elsewhere}}}).serve)
	for name, tc := range map[string]struct {
		tls *TLS
		kv  []string
		ok  bool
	}{
		"host name checked":         {&TLS{CA: ca.pem}, nil, false},
		"empty algorithm":           {&TLS{CA: ca.pem}, []string{"ssl.endpoint.identification.algorithm="}, true},
		"none":                      {&TLS{CA: ca.pem}, []string{"ssl.endpoint.identification.algorithm=none"}, true},
		"https":                     {&TLS{CA: ca.pem}, []string{"ssl.endpoint.identification.algorithm=https"}, false},
		"chain still checked":       {&TLS{CA: newCA(t, "Other").pem}, []string{"ssl.endpoint.identification.algorithm="}, false},
		"server name":               {&TLS{CA: ca.pem, ServerName: "kafka.example"}, nil, true},
		"server name, none":         {&TLS{CA: ca.pem, ServerName: "b.example"}, []string{"ssl.endpoint.identification.algorithm="}, false},
		"insecure":                  {&TLS{InsecureSkipVerify: new(true)}, nil, true},
		"false wins":                {&TLS{InsecureSkipVerify: new(false)}, []string{"enable.ssl.certificate.verification=false"}, false},
		"true wins":                 {&TLS{InsecureSkipVerify: new(true)}, []string{"enable.ssl.certificate.verification=true"}, true},
		"not said":                  {&TLS{}, []string{"enable.ssl.certificate.verification=false"}, true},
		"librdkafka's insecure":     {nil, []string{"security.protocol=ssl", "enable.ssl.certificate.verification=false"}, true},
		"librdkafka's not insecure": {nil, []string{"security.protocol=ssl", "enable.ssl.certificate.verification=true"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := mustNew(t, Config{Bootstrap: []string{addr}, TLS: tc.tls, Properties: properties(tc.kv...)})
			if _, err := c.Connect(t.Context()); (err == nil) != tc.ok {
				t.Errorf("ok %v: %v", tc.ok, err)
			}
		})
	}
}

func TestTLSVersionsAndCiphers(t *testing.T) {
	for _, tc := range []struct {
		kv             []string
		lo, hi         uint16
		suites         []uint16
		allowed, other uint16
	}{
		{nil, tls.VersionTLS12, 0, nil, 0, 0},
		{[]string{"ssl.protocol=TLSv1.2"}, tls.VersionTLS12, tls.VersionTLS12, nil, 0, 0},
		{[]string{"ssl.protocol=TLSv1.3"}, tls.VersionTLS12, 0, nil, 0, 0},
		{[]string{"ssl.enabled.protocols=TLSv1.3"}, tls.VersionTLS13, tls.VersionTLS13, nil, 0, 0},
		{[]string{"ssl.enabled.protocols=TLSv1.1,TLSv1.2,TLSv1.3"}, tls.VersionTLS11, tls.VersionTLS13, nil, 0, 0},
		{
			[]string{"ssl.cipher.suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"},
			tls.VersionTLS12, tls.VersionTLS12,
			[]uint16{tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384},
			tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_AES_128_GCM_SHA256,
		},
		{
			[]string{"ssl.cipher.suites=ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:AES128-SHA"},
			tls.VersionTLS12, tls.VersionTLS12,
			[]uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_RSA_WITH_AES_128_CBC_SHA},
			tls.TLS_RSA_WITH_AES_128_CBC_SHA, 1,
		},
		{[]string{"ssl.cipher.suites=TLS_AES_256_GCM_SHA384"}, tls.VersionTLS13, 0, nil, tls.TLS_AES_256_GCM_SHA384, tls.TLS_AES_128_GCM_SHA256},
	} {
		c, err := tlsCluster(t, tc.kv...)
		if err != nil {
			t.Fatal(tc.kv, err)
		}
		got := c.dialer.tls
		if got.MinVersion != tc.lo || got.MaxVersion != tc.hi || !reflect.DeepEqual(got.CipherSuites, tc.suites) {
			t.Errorf("%v: %x to %x, %v", tc.kv, got.MinVersion, got.MaxVersion, got.CipherSuites)
		}
		if tc.allowed == 0 {
			continue
		}
		if err := got.VerifyConnection(tls.ConnectionState{CipherSuite: tc.allowed}); err != nil {
			t.Errorf("%v: %v", tc.kv, err)
		}
		if err := got.VerifyConnection(tls.ConnectionState{CipherSuite: tc.other}); err == nil {
			t.Errorf("%v: suite %x is accepted", tc.kv, tc.other)
		}
	}
}

func TestMutualTLS(t *testing.T) {
	ca := newCA(t, "Test CA")
	client := ca.good(t)
	b := &broker{id: "c1", tls: &tls.Config{Certificates: []tls.Certificate{ca.good(t)}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool()}}
	addr := listen(t, b.serve)
	c := mustNew(t, Config{Bootstrap: []string{addr}, TLS: &TLS{CA: ca.pem, Cert: certPEM(client.Certificate[0]), Key: Secret(keyPEM(t, client))}})
	if info, err := c.Connect(t.Context()); err != nil || info.ClusterID != "c1" {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestTLSAlertAllocatesNothing: an alert read as a length is 352,518,912.
func TestTLSAlertAllocatesNothing(t *testing.T) {
	addr := listen(t, func(c net.Conn) { answers(alertRecord)(c) })
	c := mustNew(t, Config{Bootstrap: []string{addr}})
	cl, err := c.Client(Tail)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	_, err = askClient(t.Context(), cl)
	err = c.Explain(err, "orders")
	if want := "east: " + addr + " looks like a TLS listener, but TLS is off"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
