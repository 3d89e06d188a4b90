package protobuf

import (
	"fmt"
	"strings"

	"github.com/bufbuild/protocompile/parser"
	"github.com/bufbuild/protocompile/reporter"
	"github.com/jhump/protoreflect/v2/protoprint"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Text is a registry's schema as a .proto text. Some clients register the bytes of
// a descriptor in base64 in place of a text: then the text is made of that. False
// if there is nothing to be made, and text is as people may read it.
func Text(text string) (printed string, made bool) {
	src := sourceOf(text)
	if src.proto == nil {
		return text, false
	}
	printed, err := printFile(src)
	if err != nil {
		return text, false
	}
	return printed, true
}

// printFile makes the text of a descriptor. What it imports need not be there.
func printFile(src source) (text string, err error) {
	defer func() {
		if r := recover(); r != nil { // anybody may have registered it
			err = fmt.Errorf("it cannot be printed: %v", r)
		}
	}()
	file, err := protodesc.FileOptions{AllowUnresolvable: true}.New(src.proto, protoregistry.GlobalFiles)
	if err != nil {
		return "", err
	}
	printer := protoprint.Printer{}
	if text, err = printer.PrintProtoToString(file); err != nil {
		return "", err
	}
	if _, err := parser.Parse("printed.proto", strings.NewReader(text), reporter.NewHandler(nil)); err != nil {
		return "", err // of names that no text can have
	}
	if hasUnknown(src.proto.ProtoReflect()) {
		text = "// Options that are declared in other files are left out.\n" + text
	}
	return text, nil
}

// hasUnknown reports whether a message or one in it has fields that are not known:
// in descriptors, options of other files.
func hasUnknown(m protoreflect.Message) bool {
	found := len(m.GetUnknown()) > 0
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil || fd.IsMap():
		case fd.IsList():
			for i := range v.List().Len() {
				found = found || hasUnknown(v.List().Get(i).Message())
			}
		default:
			found = found || hasUnknown(v.Message())
		}
		return !found
	})
	return found
}
