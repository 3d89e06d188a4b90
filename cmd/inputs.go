package cmd

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kcm-cli/kcm/internal/fault"
	"github.com/kcm-cli/kcm/internal/metadata"
	"github.com/kcm-cli/kcm/internal/settings"
)

// Inputs is where a command's clusters and streams come from.
type Inputs struct {
	// Sources are the metadata sources of the first place that names any.
	Sources []string
	// Bootstrap are the addresses of -b; when there are some, there are no
	// Sources.
	Bootstrap []string
	// Registries are the values of --registry.
	Registries []string
	// Properties are the values of -X and of what stands for it, the later ones
	// stronger.
	Properties []settings.Value
	// Origin says who named the sources or addresses.
	Origin string
}

// localMetadata is the file that needs no naming.
const localMetadata = "kcm.yaml"

// findInputs returns the inputs. Sources and addresses are never mixed: whoever
// is the nearest to the command line wins, and naming both in one place is an
// error.
func findInputs(env *Env) (Inputs, error) {
	s := env.run.settings
	if s == nil {
		return Inputs{}, fault.New(fault.Failed, "the settings are not loaded")
	}
	get := func(name string) settings.Setting { st, _ := s.Get("", name); return st }
	in := Inputs{Registries: get("registry").Texts(), Properties: get("properties").Values}
	if err := checkPairs(get("properties")); err != nil {
		return Inputs{}, err
	}
	bootstrap, sources := get("bootstrap"), get("metadata")
	hasBootstrap, hasSources := len(bootstrap.Values) > 0, len(sources.Values) > 0
	switch {
	case hasBootstrap && hasSources && bootstrap.Source() == sources.Source():
		return Inputs{}, fault.New(fault.Usage, "bootstrap addresses and metadata are both given (%s)", bothOrigins(bootstrap, sources)).
			WithHint("give either -b or -m")
	case hasBootstrap && (!hasSources || bootstrap.Source() > sources.Source()):
		in.Bootstrap, in.Origin = bootstrap.Texts(), bootstrap.Origin()
	case hasSources:
		in.Sources, in.Origin = sourceNames(sources, s.File), sources.Origin()
	default:
		return in.local()
	}
	return in, nil
}

func bothOrigins(a, b settings.Setting) string {
	if a.Source() == settings.CommandLine {
		return "-b and -m"
	}
	return a.Origin() + " and " + b.Origin()
}

// sourceNames are the sources; those that a config file names are relative to
// that file.
func sourceNames(st settings.Setting, file string) []string {
	names := st.Texts()
	for i, name := range names {
		isPath := name != "-" && !strings.Contains(name, "://")
		if st.Source() == settings.File && isPath && !filepath.IsAbs(name) {
			names[i] = filepath.Join(filepath.Dir(file), name)
		}
	}
	return names
}

// checkPairs refuses a property without a value; the text is not shown, for it
// may be a secret that lost its key.
func checkPairs(st settings.Setting) error {
	for _, v := range st.Values {
		where := v.Origin
		if v.Source == settings.CommandLine {
			where = "-X"
		}
		key, _, ok := strings.Cut(v.Text, "=")
		switch {
		case !ok || key == "":
			return fault.New(fault.Usage, "%s: a property without a key or a value", where).
				WithHint("-X [CLUSTER:]KEY=VALUE")
		case v.Doubtful:
			return fault.New(fault.Usage, "%s: behind a comma stands a key that no Kafka client has; it is not shown, for it may be a part of the secret before it", where).
				WithHint("one property a line, when a value holds commas")
		case !settings.IsKey(key):
			return fault.New(fault.Usage, "%s: what stands before a = is no property's key; it is not shown, for it may be a part of a secret", where).
				WithHint("-X [CLUSTER:]KEY=VALUE")
		}
	}
	return nil
}

// local falls back to the file in the working directory.
func (in Inputs) local() (Inputs, error) {
	if _, err := os.Stat(localMetadata); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			return Inputs{}, fault.New(fault.Usage, "%w", err)
		}
		if to, err := os.Readlink(localMetadata); err == nil {
			return Inputs{}, fault.New(fault.Usage, "./%s is a link to %s, which does not exist", localMetadata, to)
		}
		return Inputs{}, fault.New(fault.Usage, "no clusters and streams are named").
			WithHint("-m FILE, KCM_METADATA, ./kcm.yaml or -b HOST:PORT")
	}
	in.Sources, in.Origin = []string{"./" + localMetadata}, "default"
	return in, nil
}

// load reads the metadata. It contacts no broker.
func (in Inputs) load(ctx context.Context, env *Env) (*metadata.View, error) {
	view, err := in.view(ctx, env)
	if err != nil {
		return nil, err
	}
	return view, in.checkScopes(view)
}

// checkScopes refuses a -X for a cluster that does not exist: passed over, a
// misspelt name would look like a wrong password. A config file may name
// clusters of other metadata.
func (in Inputs) checkScopes(view *metadata.View) error {
	for _, v := range in.Properties {
		key, _, _ := strings.Cut(v.Text, "=")
		scope, _, scoped := strings.Cut(key, ":")
		if scoped && v.Source == settings.CommandLine && view.Cluster(scope) == nil {
			return fault.New(fault.Usage, "-X: %w", unknownCluster(view, scope))
		}
	}
	return nil
}

func (in Inputs) view(ctx context.Context, env *Env) (*metadata.View, error) {
	if len(in.Bootstrap) > 0 {
		return metadata.AdHoc(in.Bootstrap, in.Registries)
	}
	view, err := metadata.Load(ctx, in.Sources, metadata.Options{
		Stdin: interruptible{ctx.Done(), env.Stdin}, Getenv: env.LookupEnv, Now: env.Now(),
	})
	if _, signaled := stoppedBy(ctx); signaled && err != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	return view.WithRegistries(in.Registries)
}
