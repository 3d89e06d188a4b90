package cmd

import (
	"strings"

	"github.com/kcm-cli/kcm/internal/cluster"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/settings"
)

// connect makes a cluster of its description in the metadata and of -X. It
// contacts nothing.
func connect(env *Env, m *metadata.Cluster) (*cluster.Cluster, error) {
	in, err := findInputs(env)
	if err != nil {
		return nil, err
	}
	cfg := cluster.Config{
		Name: m.Name, Bootstrap: m.Bootstrap, ClusterID: m.ClusterID, Origin: m.Origin.String(), Dir: m.Dir,
		PropertiesFile: m.PropertiesFile, Properties: commandProperties(in.Properties, m.Name),
		Places: make(map[string]string, len(m.Places)),
	}
	if hook := env.run.metrics.Client(m.Name); hook != nil {
		cfg.Hooks = append(cfg.Hooks, hook)
	}
	for field, at := range m.Places {
		cfg.Places[field] = at.String()
	}
	for _, p := range m.Properties {
		layer := cluster.FromMetadata
		if p.Field {
			layer = cluster.FromField
		}
		cfg.Properties = append(cfg.Properties, cluster.Property{
			Key: p.Key, Value: cluster.Secret(p.Value.Reveal()), Origin: p.Origin.String(), Dir: m.Dir, Layer: layer,
		})
	}
	cfg.TLS = tlsOf(m.TLS)
	cfg.SASL = saslConfig(m.SASL)
	c, err := cluster.New(cfg)
	if err != nil {
		return nil, err
	}
	for _, p := range c.Ignored() {
		env.run.notices.Verbosef(1, "%s: %s (%s) means nothing here and is passed over", m.Name, p.Key, p.Origin)
	}
	return c, nil
}

func tlsOf(t *metadata.TLS) *cluster.TLS {
	if t == nil {
		return nil
	}
	return &cluster.TLS{
		CA: pem(t.CA), Cert: pem(t.Cert), Key: cluster.Secret(pem(t.Key)), KeyPassword: cluster.Secret(t.KeyPassword.Reveal()),
		ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify,
	}
}

func pem(p metadata.PEM) string {
	if p.Path != "" {
		return p.Path
	}
	return p.Text.Reveal()
}

// commandProperties are the values of -X that hold for a cluster, the later
// ones first: the first of several with one key wins.
func commandProperties(values []settings.Value, name string) []cluster.Property {
	var list []cluster.Property
	for i := len(values) - 1; i >= 0; i-- {
		key, value, _ := strings.Cut(values[i].Text, "=")
		if scope, rest, ok := strings.Cut(key, ":"); ok {
			if scope != name {
				continue
			}
			key = rest
		}
		origin := values[i].Origin
		if values[i].Source == settings.CommandLine {
			origin = "-X"
		}
		list = append(list, cluster.Property{Key: strings.TrimSpace(key), Value: cluster.Secret(value), Origin: origin, Layer: cluster.FromCommand})
	}
	return list
}

func saslConfig(s *metadata.SASL) *cluster.SASL {
	if s == nil {
		return nil
	}
	return &cluster.SASL{
		Mechanism: s.Mechanism, Username: s.Username, Password: cluster.Secret(s.Password.Reveal()),
		Token: cluster.Secret(s.Token.Reveal()), TokenFile: s.TokenFile,
	}
}
