package settings

import (
	"strings"

	"github.com/spf13/viper"

	"github.com/kcm-cli/kcm/internal/fault"
)

// delimiter parts the words of viper's keys. The usual dot stands inside the
// names of properties.
const delimiter = "::"

// layers settles plain flags: viper decides which source wins, and the origins
// are found beside it. The environment is merged over the file instead of bound,
// because viper would read the process's own.
type layers struct {
	v    *viper.Viper
	file *file
	env  map[string]string // the variable's name, by viper's key, of those that are set
}

func newLayers(o Options, f *file) (*layers, error) {
	l := &layers{v: viper.NewWithOptions(viper.KeyDelimiter(delimiter)), file: f, env: map[string]string{}}
	for _, fl := range o.Flags {
		if fl.Shape == Pairs {
			continue
		}
		if err := l.merge(fl, f.texts(fl)); err != nil {
			return nil, err
		}
		if text := getenv(o, fl); text != "" {
			l.env[vkey(fl)] = fl.EnvName()
			if err := l.merge(fl, split(fl, text)); err != nil {
				return nil, err
			}
		}
		if fl.Default != "" {
			l.v.SetDefault(vkey(fl), []string{fl.Default})
		}
		if fl.Given {
			l.v.Set(vkey(fl), fl.Values)
		}
	}
	return l, nil
}

func vkey(fl Flag) string { return strings.Join(fl.path(), delimiter) }

// getenv returns the variable of a flag, "" for a flag that takes none.
func getenv(o Options, fl Flag) string {
	if CommandLineOnly(fl.Name) {
		return ""
	}
	return o.Getenv(fl.EnvName())
}

// merge puts texts over what viper has for the flag so far.
func (l *layers) merge(fl Flag, texts []string) error {
	if len(texts) == 0 {
		return nil
	}
	path := fl.path()
	m := map[string]any{path[len(path)-1]: texts}
	for i := len(path) - 2; i >= 0; i-- {
		m = map[string]any{path[i]: m}
	}
	if err := l.v.MergeConfigMap(m); err != nil {
		return fault.New(fault.Usage, "%s: %w", fl.Label(), err)
	}
	return nil
}

func (l *layers) settle(fl Flag) Setting {
	s := Setting{Flag: fl}
	source, origin := Default, "default"
	switch at := l.file.at(fl.path()); {
	case fl.Given:
		source, origin = CommandLine, "flag"
	case l.env[vkey(fl)] != "":
		source, origin = Env, "env "+l.env[vkey(fl)]
	case len(at) > 0:
		source, origin = File, at[0].origin
	}
	for _, text := range l.v.GetStringSlice(vkey(fl)) {
		s.Values = append(s.Values, Value{Text: text, Source: source, Origin: origin})
	}
	return s
}

// split parts the text of a variable or scalar into values.
func split(fl Flag, text string) []string {
	switch fl.Shape {
	case Commas:
		var list []string
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		return list
	case Named:
		return splitNamed(text, ",")
	default:
		return []string{text}
	}
}
