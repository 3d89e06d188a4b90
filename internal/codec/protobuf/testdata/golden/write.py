"""Writes golden.txt, with.binpb and without.binpb beside this script: messages of
the .proto files there as Python's Protobuf encodes and prints them, and those
files as descriptor sets with and without what they import.

    pip install protobuf grpcio-tools
    python write.py

A line of golden.txt is a name, a message's full name, the bytes in hex and
Python's JSON, with tabs between.
"""
import json
import os
import sys
import tempfile

import grpc_tools
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf import duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2  # noqa: F401
from grpc_tools import protoc

here = os.path.dirname(os.path.abspath(__file__))
wkt = os.path.join(os.path.dirname(grpc_tools.__file__), "_proto")
files = ["proto3.proto", "proto2.proto", "edition2023.proto"]
for name, more in (("with", ["--include_imports"]), ("without", [])):
    out = os.path.join(here, name + ".binpb")
    if protoc.main(["protoc", "-I" + here, "-I" + wkt, "--descriptor_set_out=" + out, *more, *files]):
        sys.exit(1)

pool = descriptor_pool.Default()
with open(os.path.join(here, "without.binpb"), "rb") as f:
    for fdp in descriptor_pb2.FileDescriptorSet.FromString(f.read()).file:
        pool.Add(fdp)
classes = message_factory.GetMessageClassesForFiles(files, pool)
Three, Two, Edition, Inner = (classes["golden." + n] for n in ("Three", "Two", "Edition", "Inner"))

lines = []


def golden(name, m, raw=None):
    """Notes a message, or what Python reads out of raw bytes."""
    if raw is not None:
        m = type(m).FromString(raw)
    else:
        raw = m.SerializePartialToString(deterministic=True)
    text = json_format.MessageToJson(m, indent=None, ensure_ascii=False, descriptor_pool=pool)
    compact = json.dumps(json.loads(text), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    lines.append("\t".join((name, m.DESCRIPTOR.full_name, raw.hex(), compact)))


INTS = {
    "i32": (32, True), "i64": (64, True), "u32": (32, False), "u64": (64, False), "s32": (32, True), "s64": (64, True),
    "f32": (32, False), "f64": (64, False), "sf32": (32, True), "sf64": (64, True),
}
golden("empty", Three())
for field, (bits, signed) in INTS.items():
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    for what, n in (("low", low), ("high", high), ("one", 1)):
        golden(field + " " + what, Three(**{field: n}))
    if signed:
        golden(field + " minus one", Three(**{field: -1}))
golden("i64 above 2^53", Three(i64=9007199254740993))
for value in (1.5, 0.1, -0.0, 1e-7, 3.4028234663852886e38, 1e21, float("nan"), float("inf"), float("-inf"), 16777216.0):
    golden("float %r" % value, Three(float_value=value))
for value in (1.5, 0.1, -0.0, 1e-7, 5e-324, 1.7976931348623157e308, 1e21, 1e22, 123456789.125, float("nan"), float("inf"), float("-inf")):
    golden("double %r" % value, Three(double_value=value))
golden("bool", Three(yes=True))
golden("text", Three(text='<a href="x">&\\/</a>\n\r\t\b\f\x00\x1f\x7f\u2028\u2029 größer 日本 🙂'))
golden("bytes", Three(raw=bytes(range(256))))
for number in (1, 2, 70000, -5, 99, -7):
    golden("enum %d" % number, Three(colour=number))
golden("message", Three(inner=Inner(a=-3, b="b", more=[Inner(), Inner(a=1)], one=Inner(one=Inner()))))
golden("lists", Three(
    i32s=[0, 1, -1, 300], s64s=[0, -1, 1 << 40], f32s=[0, 7], doubles=[0.5, float("nan")], bools=[True, False],
    colours=[0, 1, 99], texts=["", "x"], raws=[b"", b"\xff\xfe"], inners=[Inner(), Inner(b="x")], unpacked=[1, 2]))
golden("oneof zero", Three(number=0))
golden("oneof text", Three(word=""))
golden("oneof message", Three(nest=Inner()))
golden("oneof enum, another oneof", Three(shade=2, blob=b""))
golden("oneof bool", Three(flag=False))
m = Three(by_text={"z": 1, "a": 0, "": -1, "ä\"": 2}, by_int={-1: "minus", 10: "ten", 9: ""}, by_sint={-5: b"\x01", 5: b""},
          by_fixed={1 << 63: 2, 1: 99}, by_uint={(1 << 64) - 1: 0.5, 0: 0})
m.by_bool[True].a = 1
m.by_bool[False].SetInParent()
golden("maps", m)
golden("optional", Three(maybe=0, perhaps="", hue=0))
for seconds, nanos in ((0, 0), (1700000000, 123456789), (1700000000, 123000000), (1700000000, 120), (-1, 999999999),
                       (-62135596800, 0), (253402300799, 999999999), (951782400, 1000), (-2208988800, 0)):
    golden("timestamp %d %d" % (seconds, nanos), Three(at=timestamp_pb2.Timestamp(seconds=seconds, nanos=nanos)))
for seconds, nanos in ((0, 0), (3, 0), (-3, -500000000), (0, -1), (315576000000, 999999999), (1, 1000)):
    golden("duration %d %d" % (seconds, nanos), Three(took=duration_pb2.Duration(seconds=seconds, nanos=nanos)))
m = Three()
m.object.update({"null": None, "number": 1.25, "whole": 3.0, "text": "x", "bool": True, "object": {"in": []}, "list": [None, 1, "x", [False], {}]})
golden("struct", m)
m = Three()
m.value.null_value = 0
golden("value null", m)
m = Three()
m.value.list_value.extend([1, "x"])
golden("value list", m)
m = Three()
m.list.extend([1, None])
golden("list value", m)
golden("field mask", Three(mask=field_mask_pb2.FieldMask(paths=["a", "one_two.three_four", "x1"])))
golden("empty message", Three(empty=empty_pb2.Empty()))
W = wrappers_pb2
golden("wrappers", Three(
    bool_value=W.BoolValue(value=True), int32_value=W.Int32Value(value=-1), int64_value=W.Int64Value(value=1 << 60),
    uint32_value=W.UInt32Value(value=1), uint64_value=W.UInt64Value(value=1 << 63), float_wrapped=W.FloatValue(value=0.5),
    double_wrapped=W.DoubleValue(value=float("inf")), string_value=W.StringValue(value="x"), bytes_value=W.BytesValue(value=b"\xff")))
golden("wrappers of zero", Three(
    bool_value=W.BoolValue(), int32_value=W.Int32Value(), int64_value=W.Int64Value(), uint32_value=W.UInt32Value(),
    uint64_value=W.UInt64Value(), float_wrapped=W.FloatValue(), double_wrapped=W.DoubleValue(), string_value=W.StringValue(),
    bytes_value=W.BytesValue()))
m = Three(times=[timestamp_pb2.Timestamp(seconds=1), timestamp_pb2.Timestamp()])
m.wrapped["k"].value = 5
golden("well-known types in lists and maps", m)
for what, inner in (("message", Inner(a=1, more=[Inner()])), ("empty message", Inner()), ("duration", duration_pb2.Duration(seconds=1)),
                    ("wrapper", W.Int64Value(value=7))):
    m = Three()
    m.any.Pack(inner)
    golden("any of " + what, m)
    outer = Three()
    outer.any.Pack(m.any)
    golden("any of any of " + what, outer)
golden("any of nothing", Three(any=any_pb2.Any()))
golden("names", Three(snake_case_name=1, renamed=2, UPPER_Case=3, far=4))

t = Two(id=0, text="", number=0, closed=4, closeds=[3, 4], packed=[1, 2], loose=[3, 4], raw=b"", word="")
t.couple.x = 1
t.couple.y = "y"
t.many.add().z = 1
t.many.add()
t.by_name["k"] = 10
t.two.text = "in"
golden("proto2", t)
golden("proto2 with nothing", Two())
t = Two()
t.pair.p = 0
golden("proto2 group in a oneof", t)
t = Two(id=1)
two = pool.FindFileByName("proto2.proto")
t.Extensions[two.extensions_by_name["extra"]] = 7
t.Extensions[two.extensions_by_name["extras"]].extend(["a", "b"])
t.Extensions[classes["golden.Holder"].DESCRIPTOR.extensions_by_name["held"]].name = "n"
golden("extensions", t)

e = Edition(present=0, implicit=0, packed=[1, 2], expanded=[3, 4], text="", unchecked="u", open=1, shut=1, needed=0)
e.part.a = 1
e.part.part.part.a = 2
e.parts.add().a = 3
e.parts.add()
e.by_name["k"].a = 4
golden("edition 2023", e)
golden("edition 2023 with nothing", Edition())

# What docs/decoding.md shows, besides some of the above.
golden("doc bool zero", Three(yes=False))
golden("doc text", Three(text='Zo\u00eb says "hi"'))
golden("doc bytes", Three(raw=b"\xff\x00A"))
golden("doc enum", Three(colour=2))
golden("doc message", Three(inner=Inner(b="x")))
golden("doc empty inner", Three(inner=Inner()))
golden("doc list", Three(i32s=[1, 300]))
golden("doc list of messages", Three(inners=[Inner(a=1), Inner()]))
golden("doc map", Three(by_text={"b": 2, "a": 1}))
golden("doc map of ints", Three(by_int={10: "ten", 9: "nine"}))
golden("doc optional", Three(maybe=0))
golden("doc timestamp", Three(at=timestamp_pb2.Timestamp(seconds=1772546405, nanos=120000000)))
m = Three()
m.object.update({"a": 1.5, "b": [None, True]})
golden("doc struct", m)
m = Three()
m.value.string_value = "x"
golden("doc value", m)
m = Three()
m.list.extend(["x", False])
golden("doc list value", m)
golden("doc int64 value", Three(int64_value=W.Int64Value(value=5)))
golden("doc bytes value", Three(bytes_value=W.BytesValue(value=b"A")))
m = Three()
m.any.Pack(Inner(a=1))
golden("doc any", m)
golden("doc renamed", Three(renamed=1))
golden("doc camel case", Three(snake_case_name=1))
t = Two()
t.couple.x = 1
golden("doc group", t)
t = Two()
t.Extensions[two.extensions_by_name["extra"]] = 7
golden("doc extension", t)
golden("doc default", Two(number=42))

# What serializers do not write but parsers have to read.
golden("fields out of order", Three(), bytes.fromhex("4a0178" "0801"))
golden("the last one wins", Three(), bytes.fromhex("0801" "0802" "4a0161" "4a0162"))
golden("a later zero wins", Three(), bytes.fromhex("0801" "0800"))
golden("messages are merged", Three(), bytes.fromhex("8a01020801" "8a0105120178" "1a00"))
golden("nested messages are merged", Three(), bytes.fromhex("8a01042202" "0801" "8a010622041202" "7878"))
golden("lists in pieces", Three(), bytes.fromhex("aa01020102" "0807" "a80103" "aa0100" "a80104"))
golden("unpacked read packed", Three(), bytes.fromhex("f2010301" "0203" "f00104"))
golden("a oneof twice", Three(), bytes.fromhex("c80205" "d2020178"))
golden("a oneof back and forth", Three(), bytes.fromhex("da02020801" "c80205" "da0203120178"))
golden("a oneof merged", Three(), bytes.fromhex("da02020801" "da0203120178"))
golden("a map's key twice", Three(), bytes.fromhex("9a03050a01611001" "9a03050a01611002"))
golden("a map's entry without value", Three(), bytes.fromhex("9a03030a0161"))
golden("a map's entry without key", Three(), bytes.fromhex("9a03021005"))
golden("a map's entry of nothing", Three(), bytes.fromhex("9a0300" "aa0300"))
golden("a number of 64 bits for 32", Three(), bytes.fromhex("08ffffffff8f1f" "18ffffffff8f1f" "28ffffffff8f1f"))
golden("a bool of 300", Three(), bytes.fromhex("70ac02"))
golden("a long zero", Three(), bytes.fromhex("0880808000"))
golden("an unknown field", Three(), bytes.fromhex("0801" "b8bb0305" "c2bb03" "0178"))
golden("a wrong wire type", Three(), bytes.fromhex("0a0178" "1001"))
golden("an unknown group", Three(), bytes.fromhex("b3bb03" "0801" "b4bb03" "1001"))

with open(os.path.join(here, "golden.txt"), "w", encoding="utf-8") as f:
    f.write("\n".join(lines) + "\n")
print(len(lines), "messages")
