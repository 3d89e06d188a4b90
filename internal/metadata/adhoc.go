package metadata

import (
	"regexp"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
)

// defaultCluster is the name of a cluster that -b does not name.
const defaultCluster = "default"

// AdHoc makes a view of addresses, the arguments of -b in the form
// [NAME=]HOST:PORT,…, and of registries, those of --registry as WithRegistries
// takes them. Errors are fault.Usage.
func AdHoc(bootstrap, registries []string) (*View, error) {
	v := &View{AdHoc: true}
	for _, arg := range bootstrap {
		name, list, ok := strings.Cut(arg, "=")
		if !ok {
			name, list = defaultCluster, arg
		}
		if why := badName(name, "/:=,"); why != "" {
			return nil, fault.New(fault.Usage, "-b: %s", why)
		}
		if v.Cluster(name) != nil {
			return nil, fault.New(fault.Usage, "-b: cluster %q is given twice", name).
				WithHint("-b NAME=HOST:PORT names a cluster, -b HOST:PORT,HOST:PORT gives several brokers of one")
		}
		addresses, bad, why := splitAddresses(list)
		if why != "" {
			return nil, fault.New(fault.Usage, "-b: %q %s", hideUserInfo(bad), why)
		}
		at := Origin{File: "-b"}
		v.Clusters = append(v.Clusters, &Cluster{Name: name, Bootstrap: addresses, Origin: at})
	}
	if len(v.Clusters) == 0 {
		return nil, fault.New(fault.Usage, "-b: no address").WithHint("-b HOST:PORT")
	}
	v.Sources = []string{"-b"}
	return v.WithRegistries(registries)
}

// registryCluster is the name before the address of a --registry.
var registryCluster = regexp.MustCompile(`^([^:/?#]*)=(.*)$`)

// WithRegistries returns a view whose clusters use the registries of args, each
// [CLUSTER=]URL: without a name for every cluster that no other argument names.
// User-info in an address is taken as user and password.
func (v *View) WithRegistries(args []string) (*View, error) {
	if len(args) == 0 {
		return v, nil
	}
	given := map[string]*SchemaRegistry{}
	for _, arg := range args {
		name, address := "", arg
		if m := registryCluster.FindStringSubmatch(arg); m != nil {
			name, address = m[1], m[2]
			if v.Cluster(name) == nil {
				return nil, fault.New(fault.Usage, "--registry: there is no cluster %q%s", name, didYouMean(name, v.clusterNames()))
			}
		}
		if given[name] != nil {
			return nil, fault.New(fault.Usage, "--registry is given twice for %s", registryTarget(name))
		}
		r := &SchemaRegistry{IDBytes: 4, Origin: Origin{File: "--registry"}}
		if why := r.setURLs(address); why != "" {
			return nil, fault.New(fault.Usage, "--registry: what is given for %s %s", registryTarget(name), why)
		}
		given[name] = r
	}
	out := *v
	out.Clusters = make([]*Cluster, len(v.Clusters))
	for i, c := range v.Clusters {
		changed := *c
		if r := given[c.Name]; r != nil {
			changed.SchemaRegistry = r
		} else if r := given[""]; r != nil {
			changed.SchemaRegistry = r
		}
		out.Clusters[i] = &changed
	}
	return &out, nil
}

func registryTarget(name string) string {
	if name == "" {
		return "all clusters"
	}
	return "cluster " + name
}

func (v *View) clusterNames() []string {
	names := make([]string, len(v.Clusters))
	for i, c := range v.Clusters {
		names[i] = c.Name
	}
	return names
}
