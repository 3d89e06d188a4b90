package protobuf

import (
	"errors"

	"github.com/kcm-cli/kcm/internal/codec"
)

type Options struct{ Defaults bool }
type Files struct {
	Proto         string
	Paths         []string
	DescriptorSet string
	Message       string
}

func Compile(codec.Definition, Options) (codec.Schema, error) { return nil, errors.New("stub") }
func FromFiles(Files, Options) (codec.Schema, error)          { return nil, errors.New("stub") }
