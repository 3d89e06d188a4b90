"""Writes golden.json: keys and values as the serializers of confluent-kafka for
Python write them (fastavro and protobuf do the encoding), and the JSON that kcm
has to make of them, stated here by hand.

    python3 -m venv venv
    venv/bin/pip install 'confluent-kafka[avro,json,protobuf]==2.16.1' fastavro==1.13.1 protobuf grpcio-tools
    venv/bin/python write.py

The schema ids in the bytes are 1: a test puts those of its registry in. GUIDs
(of the header form) are fixed below.
"""

import base64
import datetime
import decimal
import json
import os
import subprocess
import sys
import tempfile
import uuid

from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

HERE = os.path.dirname(os.path.abspath(__file__))
GUID = "6d5f2f0e-52a4-4a0e-9c0b-0f1e2d3c4b5a"
golden = []


def text(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return f.read()


def registry():
    return SchemaRegistryClient.new_client({"url": "mock://" + uuid.uuid4().hex})


def put(name, schema, data, want, **more):
    golden.append({"name": name, "schema": schema, "value": base64.b64encode(data).decode(), "want": want, **more})


def context(field=MessageField.VALUE, headers=None):
    return SerializationContext("orders", field, headers)


def utc(*args):
    return datetime.datetime(*args, tzinfo=datetime.timezone.utc)


def avro():
    order = {
        "id": 9007199254740993, "customer": "Zoë \"Z\" O'Neil", "town": "Köln", "status": "PAID",
        "total": decimal.Decimal("-1234567.05"), "at": utc(2023, 11, 14, 22, 13, 20, 123456),
        "day": datetime.date(2026, 3, 3), "trace": uuid.UUID("123e4567-e89b-12d3-a456-426614174000"),
        "lines": [{"sku": "A-1", "count": 2, "price": 0.1}, {"sku": "", "count": -1, "price": float("inf")}],
        "tags": {"n": 7, "s": "x", "none": None}, "gift": True, "seal": b"\x00\xff\x10\x80",
    }
    east = AvroSerializer(registry(), text("order.avsc"))(order, context())
    shown = {
        "id": 9007199254740993, "customer": "Zoë \"Z\" O'Neil", "town": "Köln", "status": "PAID",
        "total": "-1234567.05", "at": "2023-11-14T22:13:20.123456Z", "day": "2026-03-03",
        "trace": "123e4567-e89b-12d3-a456-426614174000",
        "lines": [{"sku": "A-1", "count": 2, "price": 0.1}, {"sku": "", "count": -1, "price": "Infinity"}],
        "tags": {"n": 7, "s": "x", "none": None}, "gift": True, "seal": "AP8QgA==",
    }
    put("avro", "order.avsc", east, shown)

    # The same bytes mean something else by the schema of another registry: its
    # first string is the town, its decimal has four digits behind the point.
    other = {k: v for k, v in shown.items()}
    west_order = {
        "id": 7, "town": "Zoë \"Z\" O'Neil", "customer": "Köln", "status": "CLOSED", "total": decimal.Decimal("-12345.6705"),
        "at": utc(2023, 11, 14, 22, 13, 20, 123000), "day": None, "trace": None, "lines": [], "tags": {},
        "gift": False, "seal": b"abcd",
    }
    west = AvroSerializer(registry(), text("order-west.avsc"))(west_order, context())
    other = {
        "id": 7, "town": "Zoë \"Z\" O'Neil", "customer": "Köln", "status": "CLOSED", "total": "-12345.6705",
        "at": "2023-11-14T22:13:20.123Z", "day": None, "trace": None, "lines": [], "tags": {}, "gift": False, "seal": "YWJjZA==",
    }
    put("avro of west", "order-west.avsc", west, other)

    key = AvroSerializer(registry(), text("key.avsc"))({"shop": "s1", "number": 17}, context(MessageField.KEY))
    put("avro key", "key.avsc", key, {"shop": "s1", "number": 17})

    reg = registry()
    reg.register_schema("money", Schema(text("money.avsc"), "AVRO"))
    payment = Schema(text("payment.avsc"), "AVRO", [SchemaReference("shop.common.Money", "money", 1)])
    data = AvroSerializer(reg, payment)({"amount": {"cents": 250, "currency": "EUR"}, "fee": {"cents": -1, "currency": ""}}, context())
    put("avro with a reference", "payment.avsc", data,
        {"amount": {"cents": 250, "currency": "EUR"}, "fee": {"cents": -1, "currency": ""}}, references={"shop.common.Money": "money.avsc"})

    headers = []
    conf = {"schema.id.serializer": header_schema_id_serializer}
    data = AvroSerializer(registry(), text("key.avsc"), conf=conf)({"shop": "by guid", "number": -1}, context(headers=headers))
    (name, value), = headers
    assert name == "__value_schema_id" and value[0] == 1 and len(value) == 17
    put("avro by a header", "key.avsc", data, {"shop": "by guid", "number": -1}, guid=GUID,
        header={"key": name, "value": base64.b64encode(b"\x01" + uuid.UUID(GUID).bytes).decode()})


def messages():
    from grpc_tools import protoc
    import importlib
    out = tempfile.mkdtemp()
    include = os.path.join(os.path.dirname(protoc.__file__), "_proto")
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", "-I" + HERE, "-I" + include, "--python_out=" + out,
                    os.path.join(HERE, "order.proto")], check=True)
    sys.path.insert(0, out)
    return importlib.import_module("order_pb2")


def protobuf():
    pb = messages()
    order = pb.Order(id=-9007199254740993, customer="Zoë", status=pb.PAID, tags={"a": -5}, token=b"\x00\xff", total=0.1,
                     lines=[pb.Order.Line(sku="A-1", count=4294967295), pb.Order.Line()])
    order.at.FromDatetime(utc(2023, 11, 14, 22, 13, 20, 123456))
    order.points.value = 0
    shown = {
        "id": "-9007199254740993", "customer": "Zoë", "status": "PAID", "at": "2023-11-14T22:13:20.123456Z",
        "lines": [{"sku": "A-1", "count": 4294967295}, {}], "tags": {"a": -5}, "token": "AP8=", "points": "0", "total": 0.1,
    }
    for name, message, want in (
        ("protobuf", order, shown),
        ("protobuf, a nested message", pb.Order.Line(sku="inner", count=3), {"sku": "inner", "count": 3}),
        ("protobuf, the second message", pb.Refund(reason_text="broken", order_ids=[1, -1]), {"reasonText": "broken", "orderIds": ["1", "-1"]}),
    ):
        reg = registry()
        data = ProtobufSerializer(type(message), reg, {"use.deprecated.format": False})(message, context())
        put(name, "order.proto", data, want)
        compiled = reg.get_schema(1).schema_str
    # What the serializer itself registers is no text but a compiled file.
    golden.append({"name": "protobuf, a compiled file", "schema": "order.proto", "value": golden[-1]["value"], "want": golden[-1]["want"], "compiled": compiled})


def json_schema():
    data = JSONSerializer(text("order.schema.json"), registry())({"id": 7, "customer": "Zoë", "total": 12.5}, context())
    put("json schema", "order.schema.json", data, {"id": 7, "customer": "Zoë", "total": 12.5})


avro()
protobuf()
json_schema()
with open(os.path.join(HERE, "golden.json"), "w", encoding="utf-8") as f:
    json.dump(golden, f, indent=1, ensure_ascii=False)
    f.write("\n")
