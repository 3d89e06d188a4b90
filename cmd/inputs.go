package cmd

import (
	"context"
	"errors"
	"io/fs"
	"os"

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
	// Properties are the values of -X, the later ones stronger.
	Properties []string
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
	get := func(name string) settings.Setting { st, _ := s.Get("", name); return st }
	in := Inputs{Registries: get("registry").Texts(), Properties: get("properties").Texts()}
	bootstrap, sources := get("bootstrap"), get("metadata")
	hasBootstrap, hasSources := len(bootstrap.Values) > 0, len(sources.Values) > 0
	switch {
	case hasBootstrap && hasSources && bootstrap.Source() == sources.Source():
		return Inputs{}, fault.New(fault.Usage, "bootstrap addresses and metadata are both given (%s)", bothOrigins(bootstrap, sources)).
			WithHint("give either -b or -m")
	case hasBootstrap && (!hasSources || bootstrap.Source() > sources.Source()):
		in.Bootstrap, in.Origin = bootstrap.Texts(), bootstrap.Origin()
	case hasSources:
		in.Sources, in.Origin = sources.Texts(), sources.Origin()
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

// local falls back to the file in the working directory.
func (in Inputs) local() (Inputs, error) {
	if _, err := os.Stat(localMetadata); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			return Inputs{}, fault.New(fault.Usage, "%w", err)
		}
		return Inputs{}, fault.New(fault.Usage, "no clusters and streams are named").
			WithHint("-m FILE, KCM_METADATA, ./kcm.yaml or -b HOST:PORT")
	}
	in.Sources, in.Origin = []string{"./" + localMetadata}, "default"
	return in, nil
}

// load reads the metadata. It contacts no broker.
func (in Inputs) load(ctx context.Context, env *Env) (*metadata.View, error) {
	if len(in.Bootstrap) > 0 {
		return metadata.AdHoc(in.Bootstrap, in.Registries)
	}
	return metadata.Load(ctx, in.Sources, metadata.Options{
		Stdin: env.Stdin, Getenv: env.LookupEnv, Now: env.Now(),
	})
}
