package settings

import (
	"os"
	"slices"
)

// Options is what Load needs.
type Options struct {
	Flags []Flag
	// ConfigFile is the value of --config, empty when it was not given.
	ConfigFile string
	// Getenv returns a variable's value, "" when it is not set.
	Getenv func(name string) string
	// GOOS is the operating system whose habits hold, as runtime.GOOS.
	GOOS string
	// ReadFile reads a file; nil is os.ReadFile.
	ReadFile func(name string) ([]byte, error)
}

// Settings is the outcome of Load.
type Settings struct {
	// File is the config file that was read, empty if there was none.
	File string
	list []Setting
}

// All returns every setting, in the order of Options.Flags.
func (s *Settings) All() []Setting { return s.list }

// Get returns the setting of a command's flag (command "" for a global one),
// and false if no such flag was described.
func (s *Settings) Get(command, name string) (Setting, bool) {
	i := slices.IndexFunc(s.list, func(st Setting) bool { return st.Flag.Command == command && st.Flag.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return s.list[i], true
}

// Load reads the config file and the environment and settles every flag. An
// explicit file that is missing, an unknown key, a key given twice and a flag
// that only the command line may hold are errors that name file, line and
// column. An empty value is as good as none.
func Load(o Options) (*Settings, error) {
	if o.ReadFile == nil {
		o.ReadFile = os.ReadFile
	}
	name, explicit := configFile(o)
	file, err := readFile(o, name, explicit)
	if err != nil {
		return nil, err
	}
	layers, err := newLayers(o, file)
	if err != nil {
		return nil, err
	}
	s := &Settings{list: make([]Setting, len(o.Flags))}
	if file != nil {
		s.File = name
	}
	for i, f := range o.Flags {
		if f.Shape == Pairs {
			s.list[i] = settlePairs(o, file, f)
			continue
		}
		s.list[i] = layers.settle(f)
	}
	return s, nil
}

// configFile returns the config file's name and whether somebody named it.
func configFile(o Options) (name string, explicit bool) {
	if o.ConfigFile != "" {
		return o.ConfigFile, true
	}
	if name := o.Getenv("KCM_CONFIG"); name != "" {
		return name, true
	}
	if o.GOOS == "windows" {
		if dir := o.Getenv("AppData"); dir != "" {
			return dir + `\kcm\config.yaml`, false
		}
		return "", false
	}
	if dir := o.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return dir + "/kcm/config.yaml", false
	}
	if dir := o.Getenv("HOME"); dir != "" {
		return dir + "/.config/kcm/config.yaml", false
	}
	return "", false
}
