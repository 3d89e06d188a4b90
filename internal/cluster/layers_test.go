package cluster

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kcm-cli/kcm/internal/fault"
)

// layered are properties of two layers above the properties file.
func layered(command, metadata []string) []Property {
	list := properties(command...)
	for i := range list {
		list[i].Layer = FromCommand
	}
	for _, x := range properties(metadata...) {
		x.Layer = FromMetadata
		list = append(list, x)
	}
	return list
}

// TestLoginLayers: the place that wins does so whichever way it and the others
// spell a setting, and setting by setting.
func TestLoginLayers(t *testing.T) {
	const jaas = "sasl.jaas.config=" + jaasPlain
	const scram = "sasl.jaas.config=" + jaasScram
	for name, tc := range map[string]struct {
		sasl              *SASL
		command, metadata []string
		file              string
		mech, sent        string
	}{
		"-X over the file's JAAS":         {nil, []string{"sasl.username=u", "sasl.password=p"}, nil, "sasl.mechanism=PLAIN\n" + jaas, "PLAIN", "\x00u\x00p"},
		"properties over the file's JAAS": {nil, nil, []string{"sasl.username=u", "sasl.password=p"}, "sasl.mechanism=PLAIN\n" + jaas, "PLAIN", "\x00u\x00p"},
		"-X password only":                {nil, []string{"sasl.password=p"}, nil, "sasl.mechanism=PLAIN\n" + jaas, "PLAIN", "\x00ju\x00p"},
		"-X user only":                    {nil, []string{"sasl.username=u"}, nil, "sasl.mechanism=PLAIN\n" + jaas, "PLAIN", "\x00u\x00jp"},
		"-X JAAS over the file's":         {nil, []string{jaas}, nil, "sasl.mechanism=PLAIN\nsasl.username=u\nsasl.password=p\n", "PLAIN", "\x00ju\x00jp"},
		"JAAS within one place":           {nil, nil, nil, "sasl.mechanism=PLAIN\nsasl.username=u\nsasl.password=p\n" + jaas, "PLAIN", "\x00ju\x00jp"},
		"-X over properties":              {nil, []string{"sasl.password=x"}, []string{jaas}, "sasl.mechanism=PLAIN\n", "PLAIN", "\x00ju\x00x"},
		"-X mechanisms over mechanism":    {nil, []string{"sasl.mechanisms=PLAIN"}, nil, "sasl.mechanism=SCRAM-SHA-256\nsasl.username=u\nsasl.password=p\n", "PLAIN", "\x00u\x00p"},
		"mechanism within one place":      {nil, nil, nil, "sasl.mechanisms=SCRAM-SHA-256\nsasl.mechanism=PLAIN\nsasl.username=u\nsasl.password=p\n", "PLAIN", "\x00u\x00p"},
		"-X all, JAAS of another module":  {nil, []string{"sasl.mechanism=PLAIN", "sasl.username=u", "sasl.password=p"}, nil, "sasl.mechanism=SCRAM-SHA-256\n" + scram, "PLAIN", "\x00u\x00p"},
		"YAML password over JAAS":         {&SASL{Password: "p"}, nil, nil, "sasl.mechanism=PLAIN\n" + jaas, "PLAIN", "\x00ju\x00p"},
		"YAML password over -X":           {&SASL{Password: "p"}, []string{"sasl.password=x", "sasl.username=u"}, nil, "sasl.mechanism=PLAIN\n", "PLAIN", "\x00u\x00p"},
		"YAML user over JAAS":             {&SASL{Username: "u"}, nil, nil, "sasl.mechanism=PLAIN\n" + jaas, "PLAIN", "\x00u\x00jp"},
		"a delegation token's key":        {&SASL{Password: "p"}, nil, nil, "sasl.mechanism=SCRAM-SHA-256\n" + scram, "SCRAM-SHA-256", "n,,n=ju,r="},
		"another user than the token's":   {nil, []string{"sasl.username=u"}, nil, "sasl.mechanism=SCRAM-SHA-256\n" + scram, "SCRAM-SHA-256", "n,,n=u,r="},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeFile(t, "east.properties", "security.protocol=SASL_PLAINTEXT\n"+tc.file)
			c := mustNew(t, Config{Bootstrap: []string{"h:1"}, SASL: tc.sasl, Properties: layered(tc.command, tc.metadata), PropertiesFile: file})
			mech, sent := firstStep(t, c)
			if mech != tc.mech || !strings.HasPrefix(sent, tc.sent) || mech == "PLAIN" && sent != tc.sent {
				t.Errorf("got %s %q, want %s %q", mech, sent, tc.mech, tc.sent)
			}
			if got, want := strings.HasSuffix(sent, ",tokenauth=true"), name == "a delegation token's key"; got != want {
				t.Errorf("delegation token: %v, want %v", got, want)
			}
		})
	}
}

func TestLoginLayersErrors(t *testing.T) {
	for want, tc := range map[string]struct {
		sasl *SASL
		kv   []string
	}{
		"east: sasl.jaas.config (east.properties:2): login module org.apache.kafka.common.security.plain.PlainLoginModule does not fit sasl.mechanism GSSAPI, whose module is com.sun.security.auth.module.Krb5LoginModule": {nil, []string{"sasl.mechanism=GSSAPI"}},
		"east: sasl.jaas.config (east.properties:2): login module org.apache.kafka.common.security.plain.PlainLoginModule does not fit sasl.mechanism SCRAM-SHA-256, whose module is " + moduleScram:                        {&SASL{Mechanism: "SCRAM-SHA-256", Password: "p"}, nil},
		"east: sasl.token (kcm.yaml:9:5): means nothing for PLAIN": {&SASL{Mechanism: "PLAIN", Token: "t"}, nil},
		"east: sasl.mechanism (kcm.yaml:7:3): missing":             {&SASL{Password: "p"}, nil},
	} {
		file := writeFile(t, "east.properties", "security.protocol=SASL_PLAINTEXT\nsasl.jaas.config="+jaasPlain+"\n")
		_, err := New(Config{
			Name: "east", Bootstrap: []string{"h:1"}, SASL: tc.sasl, Properties: layered(tc.kv, nil), PropertiesFile: file,
			Origin: "kcm.yaml:2:3", Places: map[string]string{"sasl": "kcm.yaml:7:3", "sasl.token": "kcm.yaml:9:5"},
		})
		if err == nil || err.Error() != want || fault.KindOf(err) != fault.Usage {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestTLSLayers: trust and identity come from one place, however it names them.
func TestTLSLayers(t *testing.T) {
	one, two := newCA(t, "One"), newCA(t, "Two")
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, second := one.good(t), two.good(t)
	write("one.pem", one.pem)
	write("two.pem", two.pem)
	write("one.store", certPEM(first.Certificate[0])+keyPEM(t, first))
	write("two.crt", certPEM(second.Certificate[0]))
	write("two.key", keyPEM(t, second))
	for name, tc := range map[string]struct {
		command, metadata []string
		file              string
		trusts            *testCA // nil: the system's roots
		is                *tls.Certificate
	}{
		"-X ca over the file's store":        {[]string{"ssl.ca.location=" + dir + "/two.pem"}, nil, "ssl.truststore.location=one.pem", two, nil},
		"-X store over the file's ca":        {[]string{"ssl.truststore.location=" + dir + "/two.pem"}, nil, "ssl.ca.pem=" + oneLine(one.pem), two, nil},
		"properties over the file":           {nil, []string{"ssl.ca.location=" + dir + "/two.pem"}, "ssl.truststore.certificates=" + oneLine(one.pem), two, nil},
		"-X over properties":                 {[]string{"ssl.ca.location=" + dir + "/two.pem"}, []string{"ssl.truststore.location=" + dir + "/one.pem"}, "", two, nil},
		"-X the system's roots":              {[]string{"ssl.ca.location=probe"}, nil, "ssl.truststore.location=one.pem", nil, nil},
		"within one place":                   {nil, nil, "ssl.ca.location=two.pem\nssl.truststore.location=one.pem", one, nil},
		"-X certificate over the file's":     {[]string{"ssl.certificate.location=" + dir + "/two.crt", "ssl.key.location=" + dir + "/two.key"}, nil, "ssl.ca.location=one.pem\nssl.keystore.location=one.store", one, &second},
		"-X store over the file's":           {[]string{"ssl.keystore.location=" + dir + "/one.store"}, nil, "ssl.ca.location=one.pem\nssl.certificate.location=two.crt\nssl.key.location=two.key", one, &first},
		"identity within one place":          {nil, nil, "ssl.ca.location=one.pem\nssl.certificate.location=two.crt\nssl.key.location=two.key\nssl.keystore.location=one.store", one, &first},
		"a key and its certificate, by half": {[]string{"ssl.key.location=" + dir + "/two.key"}, nil, "ssl.ca.location=one.pem\nssl.certificate.location=two.crt\nssl.key.pem=" + oneLine(keyPEM(t, first)), one, &second},
	} {
		t.Run(name, func(t *testing.T) {
			write("east.properties", "security.protocol=SSL\n"+tc.file+"\n")
			c := mustNew(t, Config{Bootstrap: []string{"h:1"}, Properties: layered(tc.command, tc.metadata), PropertiesFile: filepath.Join(dir, "east.properties")})
			var want *x509.CertPool
			if tc.trusts != nil {
				want = tc.trusts.pool()
			}
			if got := c.dialer.tls.RootCAs; (got == nil) != (want == nil) || got != nil && !got.Equal(want) {
				t.Error("trusts somebody else")
			}
			if (c.dialer.tls.GetClientCertificate == nil) != (tc.is == nil) {
				t.Fatalf("has an identity: %v", tc.is == nil)
			}
			if tc.is == nil {
				return
			}
			got, err := c.dialer.tls.GetClientCertificate(nil)
			if err != nil || !bytes.Equal(got.Certificate[0], tc.is.Certificate[0]) {
				t.Errorf("is somebody else: %v", err)
			}
		})
	}
}

// TestKeyPasswordOfYAML: it holds for a key that the properties name, and the
// properties' for one that YAML names.
func TestKeyPasswordOfYAML(t *testing.T) {
	key := []string{"ssl.certificate.location=" + store("client.pem"), "ssl.key.location=" + store("key-pbes2.pem"), "ssl.key.password=wrong"}
	mustNew(t, Config{Bootstrap: []string{"h:1"}, TLS: &TLS{KeyPassword: "keypass1"}, Properties: properties(key...)})
	yaml := &TLS{Cert: store("client.pem"), Key: Secret(store("key-pbes2.pem"))}
	mustNew(t, Config{Bootstrap: []string{"h:1"}, TLS: yaml, Properties: properties("ssl.key.password=keypass1")})
	_, err := New(Config{Name: "east", Bootstrap: []string{"h:1"}, TLS: yaml, Places: map[string]string{"tls.key": "kcm.yaml:6:9"}})
	if want := "east: tls.key (kcm.yaml:6:9): " + store("key-pbes2.pem") + ": the passphrase is missing or wrong"; err == nil || err.Error() != want || fault.HintOf(err) != "set tls.keyPassword" {
		t.Errorf("got  %v (%s)\nwant %s", err, fault.HintOf(err), want)
	}
}

// TestPlaces: an error about a field says where it stands.
func TestPlaces(t *testing.T) {
	at := map[string]string{"tls": "k:1:1", "tls.ca": "k:2:2", "tls.cert": "k:3:3", "tls.key": "k:4:4", "propertiesFile": "k:5:5", "bootstrap": "k:6:6"}
	for want, cfg := range map[string]Config{
		"east: tls.ca (k:2:2): /no/ca.pem: no such file or directory":                   {TLS: &TLS{CA: "/no/ca.pem"}},
		"east: tls.cert (k:3:3): /no/c.pem: no such file or directory":                  {TLS: &TLS{Cert: "/no/c.pem"}},
		"east: tls.key (k:4:4): /no/k.pem: no such file or directory":                   {TLS: &TLS{Cert: store("client.pem"), Key: "/no/k.pem"}},
		"east: propertiesFile (k:5:5): /no/e.properties: no such file or directory":     {PropertiesFile: "/no/e.properties"},
		`east: bootstrap (k:6:6): "h:x": the port is a number up to 65535`:              {Bootstrap: []string{"h:x"}},
		"east: tls.ca (k:2:2): " + store("key.pem") + ": there is no certificate in it": {TLS: &TLS{CA: store("key.pem")}},
	} {
		cfg.Name, cfg.Places, cfg.Origin = "east", at, "k:0"
		if cfg.Bootstrap == nil {
			cfg.Bootstrap = []string{"h:1"}
		}
		if _, err := New(cfg); err == nil || err.Error() != want || fault.KindOf(err) != fault.Usage {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
