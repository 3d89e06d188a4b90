"""Writes bundle.binpb: the files that a Protobuf schema may import although
nobody registered them, google/protobuf/* aside, which the Go library has.

    pip install grpcio-tools googleapis-common-protos
    python write.py

The definitions of google/type/* are Google's, under the Apache License 2.0;
those of confluent/* stand beside this script.
"""
import glob
import os
import sys

import google.type
import grpc_tools
from google.protobuf import descriptor_pb2
from grpc_tools import protoc

here = os.path.dirname(os.path.abspath(__file__))
apis = os.path.dirname(os.path.dirname(list(google.type.__path__)[0]))
files = sorted(os.path.relpath(f, apis) for f in glob.glob(apis + "/google/type/*.proto"))
files += ["confluent/meta.proto", "confluent/type/decimal.proto", "confluent/types/decimal.proto"]
out = os.path.join(here, "bundle.binpb")
wkt = os.path.join(os.path.dirname(grpc_tools.__file__), "_proto")
code = protoc.main(["protoc", "-I" + apis, "-I" + here, "-I" + wkt, "--include_imports", "--descriptor_set_out=" + out, *files])
if code:
    sys.exit(code)
with open(out, "rb") as f:
    everything = descriptor_pb2.FileDescriptorSet.FromString(f.read())
kept = descriptor_pb2.FileDescriptorSet(file=[f for f in everything.file if not f.name.startswith("google/protobuf/")])
for f in kept.file:
    f.ClearField("options")
with open(out, "wb") as f:
    f.write(kept.SerializeToString(deterministic=True))
print(len(kept.file), "files,", os.path.getsize(out), "bytes:", *[f.name for f in kept.file])
