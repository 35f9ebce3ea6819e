"""Topics as the serializers of schema registries write them, with the schemas that they used.

confluent-kafka's serializers write through a real producer. Their registry is in memory; what it
would have written to `_schemas` is written there.
"""

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.schema_registry import (
    Schema,
    SchemaRegistryClient,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from workbench.values.formats.protobuf import descriptors_of

TOPICS = ("_schemas", "clicks", "late", "orders", "payments")
PROTO = (Path(__file__).parent / "shop.proto").read_text()
ORDER_1 = {
    "type": "record", "name": "Order", "namespace": "shop",
    "fields": [{"name": "id", "type": "int"}, {"name": "text", "type": "string"}],
}  # fmt: skip
ORDER_2 = {
    **ORDER_1,
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}],
         "default": None},
        {"name": "text", "type": "string"},
    ],
}  # fmt: skip
CLICK = {
    "type": "object",
    "title": "Click",
    "properties": {
        "page": {"type": "string"},
        "ms": {"type": "integer"},
        "tags": {"type": "object", "additionalProperties": {"type": "number"}},
        "any": {},
    },
}
AT = datetime(2026, 11, 23, 12, 30, tzinfo=UTC)


@cache
def payment_class() -> Any:
    files = descriptor_pb2.FileDescriptorSet.FromString(descriptors_of(PROTO, {}))
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Payment"))


def payment(number: int) -> Any:
    kind = payment_class()
    made = kind(id=2**64 - 1 - number, amount=1.5, state=1, counts={"a": number}, proofs=[b"x"])
    made.at.FromDatetime(AT)
    made.points.value = number
    made.number = 7
    made.whole.parts.add(name="half").parts.add(name="quarter")
    made.more.update({"why": ["gift"]})
    return made


class Registry:
    """A registry in memory, and what it would have written to `_schemas`."""

    def __init__(self) -> None:
        self.client: Any = SchemaRegistryClient.new_client({"url": "mock://"})

    def records(self) -> Iterator[tuple[bytes, bytes | None]]:
        for number, found in sorted(self.client._store.schema_id_index.items()):  # noqa: SLF001
            subject, version = found.subject, found.version
            key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
            value = {"subject": subject, "version": version, "id": number, "deleted": False,
                     "schema": found.schema.schema_str}  # fmt: skip
            if found.guid:
                value["guid"] = found.guid
            if found.schema.schema_type != "AVRO":
                value["schemaType"] = found.schema.schema_type
            if found.schema.references:
                value["references"] = [
                    {"name": r.name, "subject": r.subject, "version": r.version}
                    for r in found.schema.references
                ]
            yield json.dumps(key).encode(), json.dumps(value).encode()
        yield b'{"keytype":"CONFIG","subject":null,"magic":0}', b'{"compatibilityLevel":"NONE"}'
        yield b'{"keytype":"NOOP","magic":0}', None


def write_registry_shop(bootstrap: str) -> None:
    """Write a few records to each of `TOPICS`; the topics must be there, or come by themselves.

    Args:
        bootstrap: address of a broker.
    """
    from confluent_kafka.schema_registry.json_schema import JSONSerializer

    registry = Registry()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})

    def send(
        topic: str, value: bytes | None, key: bytes | None = None, headers: Any = None
    ) -> None:
        producer.produce(topic, value, key, headers=headers)

    def context(topic: str, field: MessageField = MessageField.VALUE) -> SerializationContext:
        return SerializationContext(topic, field, [])

    for schema, values in (
        (ORDER_1, [{"id": 1, "text": "tea"}, {"id": 2, "text": "grün"}]),
        (ORDER_2, [{"id": 2**40, "text": "later", "at": AT}]),
    ):
        serialize = AvroSerializer(registry.client, json.dumps(schema))
        keys = AvroSerializer(registry.client, '"long"')
        for value in values:
            key = keys(value["id"], context("orders", MessageField.KEY))
            send("orders", serialize(value, context("orders")), key)
    send("orders", None, b"\x00\x00\x00\x00\x63\x02")
    send("orders", b"not framed")
    send("orders", b"\x00\x00\x00\x00\x63unknown")
    pay = ProtobufSerializer(payment_class(), registry.client, {"use.deprecated.format": False})
    for number in range(3):
        send("payments", pay(payment(number), context("payments")))
    send("payments", pay(payment(3), context("payments"))[:-3])
    click = JSONSerializer(json.dumps(CLICK), registry.client)
    send("clicks", click({"page": "/", "ms": 5, "tags": {"a": 1}, "any": [1]}, context("clicks")))
    registry.client.register_schema("late-value", Schema(json.dumps(ORDER_1), "AVRO"))
    for number, found in registry.client._store.schema_id_index.items():  # noqa: SLF001
        object.__setattr__(found, "guid", str(uuid.UUID(int=number << 64)))
    in_headers = {"schema.id.serializer": header_schema_id_serializer}
    late = AvroSerializer(registry.client, json.dumps(ORDER_1), conf=in_headers)
    headed = SerializationContext("late", MessageField.VALUE, [])
    send("late", late({"id": 3, "text": "in a header"}, headed), headers=headed.headers)
    for name, stored in registry.records():
        send("_schemas", stored, name)
    assert producer.flush(20) == 0
