"""Schemas and values that ask for memory without end, or raise what nobody expects.

Run as a module: every attack once, in one process, with a limit of its addresses. Prints a line of
JSON for each: its name, what it came to, the memory that it took beyond a small value, in bytes.
"""

import ctypes
import json
import resource
import sys
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa

from tests.memory import in_memory, start_over
from workbench.values.column import Column, Decoded
from workbench.values.formats.protobuf import ProtobufDecoder, descriptors_of
from workbench.values.registry import AnyDecoding, Decoding, decoder
from workbench.values.schemas.schemas import Schema, Schemas, schemas_of_records

ADDRESSES: Final = 1500 << 20  # bytes that an attack may map
ATTACKS: Final[dict[str, Callable[[], Any]]] = {}


def attack(function: Callable[[], Any]) -> Callable[[], Any]:
    ATTACKS[function.__name__] = function
    return function


def decode(
    how: AnyDecoding, values: Sequence[bytes | None], schemas: Schemas | None = None
) -> Decoded:
    """Decode values as a scan does, whose first records are these."""
    raw = pa.array(values, pa.large_binary())
    headers = pa.nulls(
        len(values), pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    )
    sample = {"value": raw, "headers": headers}
    column = Column(
        "value", lambda _: sample, lambda: schemas or Schemas(), lambda: [sample["value"]]
    )
    return decoder(how, column).decode(raw, {"headers": headers})


def outcome(found: Decoded) -> list[Any]:
    """Return how many values there are, how many are null, and the first problem."""
    problems = [f"{each.count}: {each.found}" for each in found.problems]
    return [len(found.values), found.values.null_count, problems[0] if problems else None]


def wide(count: int) -> list[dict[str, Any]]:
    return [{"name": f"f{at}", "type": ["null", "long"]} for at in range(count)]


@attack
def small() -> Any:
    return outcome(decode(Decoding("avro", {"type": "array", "items": "long"}), [b"\x02\x06\x00"]))


@attack
def fixed_of_64_mib_that_is_null() -> Any:
    schema = ["null", {"type": "fixed", "name": "F", "size": 64 << 20}]
    return outcome(decode(Decoding("avro", schema), [b"\x00"] * 40))


@attack
def fixed_of_2_gib() -> Any:
    schema = {"type": "fixed", "name": "F", "size": 2**31 - 1}
    return outcome(decode(Decoding("avro", schema), [b"x"]))


@attack
def empty_records_in_arrays() -> Any:
    schema = {"type": "array", "items": {"type": "record", "name": "R", "fields": []}}
    return outcome(decode(Decoding("avro", schema), [b"\x80\x40\x00"] * 60_000))


@attack
def wide_records_that_are_null_in_an_array() -> Any:
    items = ["null", {"type": "record", "name": "R", "fields": wide(1500)}]
    value = b"\x80\xb5\x18" + bytes(200_000) + b"\x00"  # 200,000 items
    good = b"\x00"
    return outcome(decode(Decoding("avro", {"type": "array", "items": items}), [good, value, good]))


@attack
def recursive_records_of_items_without_bytes() -> Any:
    fields = [
        {"name": "more", "type": ["null", "R"]},
        {"name": "items", "type": {"type": "array", "items": "null"}},
    ]
    value = b"\x00\x80\x40\x00"
    return outcome(
        decode(Decoding("avro", {"type": "record", "name": "R", "fields": fields}), [value] * 300)
    )


@attack
def surrogate_as_a_name() -> Any:
    schema = {"type": "record", "name": "R", "fields": [{"name": "\udc00", "type": "long"}]}
    return outcome(decode(Decoding("avro", schema), [b"\x02"]))


@attack
def surrogate_in_json() -> Any:
    found = decode("json", [b'{"a": 1}', b'{"\\udc00":"x"}', b'{"a": 2}'])
    return [str(found.values.type), found.values.field("a").to_pylist()]


@attack
def json_of_100_000_names() -> Any:
    many = json.dumps({f"name-{at}": at for at in range(100_000)}).encode()
    found = decode("json", [b'{"a": 1}', many, b'{"a": 2}'])
    return [str(found.values.type), found.values.field("a").to_pylist()]


@attack
def json_of_many_names_together() -> Any:
    return outcome(decode("json", [json.dumps({f"n{at}": 1}).encode() for at in range(6000)]))


@attack
def empty_objects_in_a_list_of_wide_ones() -> Any:
    one = json.dumps({"l": [{f"n{at}": 1 for at in range(4000)}]}).encode()
    many = b'{"l":[' + b",".join([b"{}"] * 100_000) + b"]}"
    found = decode("json", [one, many])
    return [found.values.is_valid().to_pylist(), found.problems[0].found]


@attack
def version_that_is_infinite() -> Any:
    def record(subject: str, version: str) -> tuple[bytes, bytes]:
        key = json.dumps({"keytype": "SCHEMA", "subject": subject}).encode()
        value = f'{{"subject":"{subject}","version":{version},"id":4,"schema":"\\"long\\""}}'
        return key, value.encode()

    found = schemas_of_records([record("bad", "1e999"), record("good", "1")])
    return [found.by_id[4].subjects, found.problems]


def framed(schema: Schema, others: dict[int, Schema], value: bytes = b"\x00") -> Any:
    """Decode a value of schema 1; what it refers to are the others."""
    by_version = {("s", number): number for number in others}
    schemas = Schemas({1: schema, **others}, by_version)
    return outcome(decode("registry", [b"\x00\x00\x00\x00\x01" + value], schemas))


def imports(*names: str) -> Any:
    from workbench.values.schemas.schemas import Reference

    text = 'syntax = "proto3"; message M { int32 a = 1; }'
    references = tuple(Reference(name, "s", at) for at, name in enumerate(names, 2))
    others = {at: Schema("PROTOBUF", 'syntax = "proto3";') for at in range(2, 2 + len(names))}
    return framed(Schema("PROTOBUF", text, references), others)


@attack
def import_with_nul() -> Any:
    return imports("a\0b.proto")


@attack
def import_of_300_characters() -> Any:
    return imports("a" * 300 + ".proto")


@attack
def import_in_an_import() -> Any:
    return imports("a.proto", "a.proto/b.proto")


@attack
def import_with_a_surrogate() -> Any:
    return imports("\udc00.proto")


@attack
def chain_of_2_000_messages() -> Any:
    text = 'syntax = "proto3";' + "".join(
        f"message M{at} {{ M{at + 1} next = 1; }}" for at in range(2000)
    )
    return framed(Schema("PROTOBUF", text + "message M2000 { int32 a = 1; }"), {})


@attack
def wide_messages_without_bytes() -> Any:
    fields = "".join(f"int32 f{at} = {at + 1};" for at in range(3000))
    text = f'syntax = "proto3"; message M {{ repeated N n = 1; }} message N {{ {fields} }}'
    values = ProtobufDecoder(descriptors_of(text, {}), "M")
    from workbench.values.column import WholeValues
    from workbench.values.guard import GuardedDecoder

    raw = pa.array([b"\x0a\x00" * 50_000, b"\x0a\x00"], pa.large_binary())
    return outcome(GuardedDecoder(WholeValues(values)).decode(raw, {}))


@attack
def avro_schema_of_50_mib() -> Any:
    return framed(Schema("AVRO", json.dumps({"type": "long", "doc": "x" * (50 << 20)})), {})


@attack
def schemas_by_guid() -> Any:
    count = 4000
    guids = [uuid.UUID(int=at + 1) for at in range(count)]
    schemas = Schemas(
        {at: Schema("AVRO", '"long"', guid=str(guid)) for at, guid in enumerate(guids)}
    )
    values = [b"\x01" + guid.bytes + b"\x02" for guid in reversed(guids)]
    return outcome(decode("registry", values, schemas))


def main() -> None:
    """Make every attack."""
    ATTACKS["small"]()
    mapped = in_memory("VmSize")
    resource.setrlimit(resource.RLIMIT_AS, (mapped + ADDRESSES, mapped + ADDRESSES))
    for name in sys.argv[1:] or ATTACKS:
        ctypes.CDLL(None).malloc_trim(0)
        before = in_memory("VmRSS")
        start_over()
        try:
            result = ATTACKS[name]()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            result = f"{type(error).__name__}: {error}".encode("utf-8", "replace").decode()
        print(json.dumps([name, result, in_memory("VmHWM") - before]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
