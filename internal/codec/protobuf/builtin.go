package protobuf

import (
	_ "embed"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/apipb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/sourcecontextpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/typepb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// google are the files google/protobuf/* by path. Those of compilers and of
// features of single languages are not among them: no message is made of them.
var google = map[string]protoreflect.FileDescriptor{
	"google/protobuf/any.proto":            anypb.File_google_protobuf_any_proto,
	"google/protobuf/api.proto":            apipb.File_google_protobuf_api_proto,
	"google/protobuf/descriptor.proto":     descriptorpb.File_google_protobuf_descriptor_proto,
	"google/protobuf/duration.proto":       durationpb.File_google_protobuf_duration_proto,
	"google/protobuf/empty.proto":          emptypb.File_google_protobuf_empty_proto,
	"google/protobuf/field_mask.proto":     fieldmaskpb.File_google_protobuf_field_mask_proto,
	"google/protobuf/source_context.proto": sourcecontextpb.File_google_protobuf_source_context_proto,
	"google/protobuf/struct.proto":         structpb.File_google_protobuf_struct_proto,
	"google/protobuf/timestamp.proto":      timestamppb.File_google_protobuf_timestamp_proto,
	"google/protobuf/type.proto":           typepb.File_google_protobuf_type_proto,
	"google/protobuf/wrappers.proto":       wrapperspb.File_google_protobuf_wrappers_proto,
}

// bundled are google/type/* and confluent/*, as one FileDescriptorSet;
// bundle/write.py writes it.
//
//go:embed bundle/bundle.binpb
var bundled []byte

// bundle returns those files by path.
var bundle = sync.OnceValue(func() map[string]*descriptorpb.FileDescriptorProto {
	var set descriptorpb.FileDescriptorSet
	files := map[string]*descriptorpb.FileDescriptorProto{}
	if proto.Unmarshal(bundled, &set) == nil { // a test reads them all
		for _, f := range set.File {
			files[f.GetName()] = f
		}
	}
	return files
})
