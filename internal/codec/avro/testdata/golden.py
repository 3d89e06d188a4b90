#!/usr/bin/env python3
"""Writes golden.json: values that other programs encode, for Go's tests.

    pip install fastavro==1.13.1
    python3 golden.py [avro-tools-1.12.2.jar]

Of each case, "bytes", "canonical", "fingerprint" and "tagged" are what fastavro
makes of schema and value; "java", "java_fingerprint" and "java_single" are what
Apache Avro itself makes of the bytes and the schema. "plain" is written here by hand: it is
kcm's own form.
"""
import io
import json
import os
import subprocess
import sys
import uuid
from datetime import date, datetime, time, timezone
from decimal import Decimal

import fastavro
from fastavro.schema import fingerprint, parse_schema, to_parsing_canonical_form


def logical(base, name, **more):
    return {"type": base, "logicalType": name, **more}


def fixed(size, **more):
    return {"type": "fixed", "name": "F", "size": size, **more}


def record(name, *fields, **more):
    return {"type": "record", "name": name, **more,
            "fields": [{"name": n, "type": t} for n, t in fields]}


MONEY = logical("bytes", "decimal", precision=10, scale=2)
SUIT = {"type": "enum", "name": "Suit", "symbols": ["SPADES", "HEARTS"]}
UTC = timezone.utc

# name, schema, value, plain
CASES = [
    ("null", "null", None, 'null'),
    ("boolean", "boolean", True, 'true'),
    ("boolean false", "boolean", False, 'false'),
    ("int", "int", -2147483648, '-2147483648'),
    ("long", "long", 9007199254740993, '9007199254740993'),
    ("long max", "long", 2**63 - 1, '9223372036854775807'),
    ("long min", "long", -2**63, '-9223372036854775808'),
    ("float", "float", 0.1, '0.1'),
    ("double", "double", 1e300, '1e+300'),
    ("double whole", "double", 3.0, '3'),
    ("NaN", "double", float("nan"), '"NaN"'),
    ("infinity", "double", float("inf"), '"Infinity"'),
    ("minus infinity", "float", float("-inf"), '"-Infinity"'),
    ("string", "string", 'Zoë says "hi"', '"Zoë says \\"hi\\""'),
    ("string escapes", "string", "a\n\t\\\x01<&>\u2028\U0001f600", '"a\\n\\t\\\\\\u0001<&>\u2028\U0001f600"'),
    ("string empty", "string", "", '""'),
    ("bytes", "bytes", b"\xff\x00A", '"/wBB"'),
    ("bytes empty", "bytes", b"", '""'),
    ("fixed", fixed(3), b"\xff\x00A", '"/wBB"'),
    ("enum", SUIT, "HEARTS", '"HEARTS"'),
    ("array", {"type": "array", "items": "int"}, [1, 2, 3], '[1,2,3]'),
    ("array empty", {"type": "array", "items": "int"}, [], '[]'),
    ("array of arrays", {"type": "array", "items": {"type": "array", "items": "string"}}, [["a"], [], ["b", "c"]], '[["a"],[],["b","c"]]'),
    ("map", {"type": "map", "values": "long"}, {"a": 1, "b\"": 2}, '{"a":1,"b\\"":2}'),
    ("map empty", {"type": "map", "values": "long"}, {}, '{}'),
    ("union null", ["null", "string"], None, 'null'),
    ("union", ["null", "string"], "a", '"a"'),
    ("union null last", ["string", "null"], None, 'null'),
    ("union first", ["string", "null"], "a", '"a"'),
    ("union of three", ["null", "long", "string"], 5, '5'),
    ("union of three null", ["null", "long", "string"], None, 'null'),
    ("union with logical type", ["null", MONEY], Decimal("-12.34"), '"-12.34"'),
    ("union with array", ["null", {"type": "array", "items": "int"}], [1], '[1]'),
    ("union with map", ["null", {"type": "map", "values": "int"}], {"a": 1}, '{"a":1}'),
    ("union with enum", ["null", {**SUIT, "namespace": "cards"}], "SPADES", '"SPADES"'),
    ("union with record", ["null", record("P", ("x", "int"), namespace="com.acme")], {"x": 1}, '{"x":1}'),
    ("union of records", [record("A", ("x", "int")), record("B", ("y", "int"))], ("B", {"y": 7}), '{"y":7}'),
    ("union of one", ["int"], 4, '4'),
    ("record", record("R", ("a", "int"), ("b", ["null", "string"])), {"a": 1, "b": None}, '{"a":1,"b":null}'),
    ("record empty", record("R"), {}, '{}'),
    ("record all empty", record("R", ("a", "null"), ("b", "string"), ("c", "int"), ("d", {"type": "array", "items": "int"}), ("e", "boolean")),
     {"a": None, "b": "", "c": 0, "d": [], "e": False}, '{"a":null,"b":"","c":0,"d":[],"e":false}'),
    ("record nested", record("R", ("a", record("S", ("b", record("T", ("c", "int"))), ("d", "T"))), ("e", "S")),
     {"a": {"b": {"c": 1}, "d": {"c": 2}}, "e": {"b": {"c": 3}, "d": {"c": 4}}},
     '{"a":{"b":{"c":1},"d":{"c":2}},"e":{"b":{"c":3},"d":{"c":4}}}'),
    ("record recursive", record("List", ("v", "long"), ("next", ["null", "List"])),
     {"v": 1, "next": {"v": 2, "next": None}}, '{"v":1,"next":{"v":2,"next":null}}'),
    ("record recursive array", record("Tree", ("v", "long"), ("sub", {"type": "array", "items": "Tree"}), ("named", {"type": "map", "values": ["Tree", "null"]})),
     {"v": 1, "sub": [{"v": 2, "sub": [], "named": {}}, {"v": 3, "sub": [{"v": 4, "sub": [], "named": {}}], "named": {"n": None}}], "named": {}},
     '{"v":1,"sub":[{"v":2,"sub":[],"named":{}},{"v":3,"sub":[{"v":4,"sub":[],"named":{}}],"named":{"n":null}}],"named":{}}'),
    ("namespaces", record("R", ("a", record("S", ("x", "int"))), ("b", record("o.T", ("x", "int"), ("u", {"type": "fixed", "name": "U", "size": 1}))),
                          ("c", ["null", "S"]), ("d", ["null", "o.T"]), ("e", ["null", "n.S", "o.U"]), namespace="n", aliases=["Old"], doc="d"),
     {"a": {"x": 1}, "b": {"x": 2, "u": b"u"}, "c": {"x": 3}, "d": {"x": 4, "u": b"v"}, "e": b"w"},
     '{"a":{"x":1},"b":{"x":2,"u":"dQ=="},"c":{"x":3},"d":{"x":4,"u":"dg=="},"e":"dw=="}'),
    ("decimal", MONEY, Decimal("327.68"), '"327.68"'),
    ("decimal below one", MONEY, Decimal("0.05"), '"0.05"'),
    ("decimal negative", MONEY, Decimal("-0.01"), '"-0.01"'),
    ("decimal zero", MONEY, Decimal("0"), '"0.00"'),
    ("decimal without scale", logical("bytes", "decimal", precision=9), Decimal("123456789"), '"123456789"'),
    ("decimal wide", logical("bytes", "decimal", precision=38, scale=10), Decimal("-1234567890123456789012345678.0123456789"),
     '"-1234567890123456789012345678.0123456789"'),
    ("decimal 38 nines", logical("bytes", "decimal", precision=38, scale=38), Decimal("0." + "9" * 38), '"0.' + "9" * 38 + '"'),
    ("decimal 60 digits", logical("bytes", "decimal", precision=60, scale=1), Decimal("-" + "12345" * 11 + "0000.5"), '"-' + "12345" * 11 + '0000.5"'),
    ("decimal on fixed", fixed(4, logicalType="decimal", precision=9), Decimal("-5"), '"-5"'),
    ("decimal on fixed with scale", fixed(16, logicalType="decimal", precision=38, scale=18), Decimal("1.5"), '"1.500000000000000000"'),
    ("date", logical("int", "date"), date(2026, 3, 3), '"2026-03-03"'),
    ("date before 1970", logical("int", "date"), date(1900, 2, 28), '"1900-02-28"'),
    ("date leap day", logical("int", "date"), date(2000, 2, 29), '"2000-02-29"'),
    ("date far", logical("int", "date"), 2932897, '2932897'),
    ("time-millis", logical("int", "time-millis"), time(14, 0, 5, 123000), '"14:00:05.123"'),
    ("time-micros", logical("long", "time-micros"), time(14, 0, 5, 123456), '"14:00:05.123456"'),
    ("time out of range", logical("int", "time-millis"), 86400000, '86400000'),
    ("timestamp-millis", logical("long", "timestamp-millis"), datetime(2026, 3, 3, 14, 0, 5, 120000, UTC), '"2026-03-03T14:00:05.120Z"'),
    ("timestamp-micros", logical("long", "timestamp-micros"), datetime(2026, 3, 3, 14, 0, 5, 123456, UTC), '"2026-03-03T14:00:05.123456Z"'),
    ("timestamp-nanos", logical("long", "timestamp-nanos"), 1700000000123456789, '"2023-11-14T22:13:20.123456789Z"'),
    ("timestamp before 1970", logical("long", "timestamp-micros"), datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), '"1969-12-31T23:59:59.999999Z"'),
    ("timestamp far", logical("long", "timestamp-millis"), 253402300800000, '253402300800000'),
    ("local-timestamp-millis", logical("long", "local-timestamp-millis"), datetime(2026, 3, 3, 14, 0, 5, 123000), '"2026-03-03T14:00:05.123"'),
    ("local-timestamp-micros", logical("long", "local-timestamp-micros"), datetime(2026, 3, 3, 14, 0, 5, 123456), '"2026-03-03T14:00:05.123456"'),
    ("local-timestamp-nanos", logical("long", "local-timestamp-nanos"), 1700000000123456789, '"2023-11-14T22:13:20.123456789"'),
    ("uuid", logical("string", "uuid"), uuid.UUID("2c1e6b4e-0f3a-4c3b-9a5d-0123456789ab"), '"2c1e6b4e-0f3a-4c3b-9a5d-0123456789ab"'),
    ("uuid on fixed", fixed(16, logicalType="uuid"), uuid.UUID("2c1e6b4e-0f3a-4c3b-9a5d-0123456789ab").bytes, '"2c1e6b4e-0f3a-4c3b-9a5d-0123456789ab"'),
    ("duration", fixed(12, logicalType="duration"), b"\x01\0\0\0\x02\0\0\0\x03\0\0\0", '{"months":1,"days":2,"millis":3}'),
    ("unknown logical type", logical("long", "fortnights"), 3, '3'),
    ("logical type on another base", logical("string", "date"), "x", '"x"'),
    ("logical type in a record", record("R", ("t", logical("long", "timestamp-millis")), ("m", ["null", MONEY])),
     {"t": datetime(2026, 3, 3, tzinfo=UTC), "m": Decimal("1.5")}, '{"t":"2026-03-03T00:00:00.000Z","m":"1.50"}'),
]

LEAF1 = record("Leaf", ("a", "int"), namespace="com.acme")
LEAF2 = record("Leaf", ("b", "string"), namespace="com.acme")
MID = record("Mid", ("leaf", "Leaf"), ("other", ["null", "com.acme.Leaf"]), namespace="com.acme")
SIDE = record("com.acme.Side", ("leaf", "Leaf"))
TOP = record("Top", ("mid", "com.acme.Mid"), ("side", "com.acme.Side"), namespace="org.other")


def reference(name, version, schema):
    return {"name": name, "subject": name + "-value", "version": version, "text": json.dumps(schema)}


# name, references with the leaf first, schema, value, plain
REFERENCING = [
    ("three levels and a diamond",
     [reference("com.acme.Leaf", 1, LEAF1), reference("com.acme.Mid", 3, MID), reference("com.acme.Side", 1, SIDE)], TOP,
     {"mid": {"leaf": {"a": 1}, "other": {"a": 2}}, "side": {"leaf": {"a": 3}}},
     '{"mid":{"leaf":{"a":1},"other":{"a":2}},"side":{"leaf":{"a":3}}}'),
    ("a name alone", [reference("com.acme.Leaf", 2, LEAF2)], "com.acme.Leaf", {"b": "x"}, '{"b":"x"}'),
]


def ask_java(jar, cases):
    """Has Golden.java tell what Apache Avro makes of the cases."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Golden.java")
    lines = "".join(c["schema"] + "\t" + c["bytes"] + "\n" for c in cases)
    out = subprocess.run(["java", "-cp", jar, program], input=lines.encode(), check=True, capture_output=True)
    for case, line in zip(cases, out.stdout.decode("utf-8").rstrip("\n").split("\n"), strict=True):
        text, more, single = line.split("\t")
        if text == "!":
            print(case["name"], "in Java:", more, file=sys.stderr)
        else:
            case["java"], case["java_fingerprint"], case["java_single"] = text, more, single


def make(name, schema, value, plain, refs=()):
    named = {}
    for ref in refs:
        parse_schema(json.loads(ref["text"]), named_schemas=named)
    parsed = parse_schema(schema, named_schemas=named)
    if isinstance(schema, str) and schema in named:
        parsed = named[schema]
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed, value)
    case = {"name": name, "schema": json.dumps(schema), "bytes": out.getvalue().hex(), "plain": plain}
    text = io.StringIO()
    try:
        fastavro.json_writer(text, parsed, [value])
        case["tagged"] = text.getvalue()
    except Exception as e:  # some plain types are beyond it
        print(name, "as JSON:", e, file=sys.stderr)
    if refs:
        case["references"] = list(refs)
    else:
        case["canonical"] = to_parsing_canonical_form(schema)
        case["fingerprint"] = fingerprint(case["canonical"], "CRC-64-AVRO")
    return case


def main():
    cases = [make(name, schema, value, plain) for name, schema, value, plain in CASES]
    if len(sys.argv) > 1:
        ask_java(sys.argv[1], cases)
    for name, refs, schema, value, plain in REFERENCING:
        cases.append(make(name, schema, value, plain, refs))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json"), "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n")


main()
