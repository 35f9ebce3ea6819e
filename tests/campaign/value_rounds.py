"""Rounds that make schemas and values by chance, sound ones and hostile ones, and decode them.

A schema is used or refused as a schema; of every value there is a row or a problem; and nothing
takes memory beyond a limit.
"""

import ctypes
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import msgpack
import pyarrow as pa

from tests.campaign.worker import in_use
from tests.memory import in_memory, start_over
from workbench.errors import SchemaError
from workbench.loaders.scan.decoding import value_columns
from workbench.record.limits import LARGEST_CONTENT
from workbench.values.column import Column
from workbench.values.masking import Masks
from workbench.values.registry import Decoding, decoder
from workbench.values.schemas.schemas import Reference, Schema, Schemas, schemas_of_records

TRIES: Final = 40  # of a round
GROWTH_LIMIT: Final = 600 << 20  # bytes
_LARGEST: Final = LARGEST_CONTENT  # bytes of a value: no batch that is read holds more
_NAMES: Final = ("a", "b", "\udc00", "", "a" * 300, "a\0b", "a.b", "x/y", "é", "__proto__")
_SIZES: Final = (0, 1, 8, 64, 4096, 64 << 20, 2**31 - 1, 2**31, -1, 10**30)
_PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


class ValueFaultError(AssertionError):
    """Decoding raised, lost rows, or took too much memory."""


def avro(rng: Random, depth: int = 0) -> Any:
    """Return what may be an Avro schema."""
    kind = rng.choice((*_PRIMITIVES, "record", "array", "map", "union", "fixed", "enum", "odd"))
    if depth > 4 or kind in _PRIMITIVES:
        return rng.choice(_PRIMITIVES)
    name = rng.choice(_NAMES[:2]) if rng.random() < 0.8 else rng.choice(_NAMES)
    if kind == "record":
        count = rng.choice((0, 1, 2, 3, 3, 3000 if depth == 1 else 4))
        made = [avro(rng, depth + 1) for _ in range(min(count, 4))]
        fields = [{"name": f"{name}{at}", "type": made[at % len(made)]} for at in range(count)]
        return {"type": "record", "name": f"R{rng.randrange(4)}", "fields": fields}
    if kind == "union":
        return ["null", *(avro(rng, depth + 1) for _ in range(rng.randrange(3)))]
    simple: dict[str, Any] = {
        "array": {"type": "array", "items": avro(rng, depth + 1)},
        "map": {"type": "map", "values": avro(rng, depth + 1)},
        "fixed": {"type": "fixed", "name": f"F{rng.randrange(9)}", "size": rng.choice(_SIZES)},
        "enum": {"type": "enum", "name": f"E{rng.randrange(9)}", "symbols": list(_NAMES[:3])},
        "odd": rng.choice(({}, [], 7, None, {"type": []}, {"type": "R0"}, "R1")),
    }
    return simple[kind]


def json_schema(rng: Random, depth: int = 0) -> Any:
    """Return what may be a JSON Schema."""
    if depth > 3 or rng.random() < 0.3:
        return rng.choice(({"type": "string"}, {"type": "integer"}, True, {"$ref": "#"}, 7, {}))
    if rng.random() < 0.3:
        return {"type": "array", "items": json_schema(rng, depth + 1)}
    names = [
        f"{rng.choice(_NAMES)}{at}"
        for at in range(rng.choice((0, 1, 3, 2000 if depth == 1 else 4)))
    ]
    inner = json_schema(rng, depth + 1)
    return {"type": "object", "properties": dict.fromkeys(names, inner)}


def any_json(rng: Random, depth: int = 0) -> Any:
    """Return anything that JSON can hold."""
    if depth > 3 or rng.random() < 0.4:
        return rng.choice((None, True, 1, 2**70, 1.5, "text", "\udc00", "2020-01-01T00:00:00Z"))
    if rng.random() < 0.4:
        return [any_json(rng, depth + 1)] * rng.choice((0, 1, 3, 500 if depth < 2 else 4))
    names = [
        f"{rng.choice(_NAMES)}{at}" for at in range(rng.choice((1, 2, 1500 if depth == 1 else 3)))
    ]
    return dict.fromkeys(names, any_json(rng, depth + 1))


def bytes_of(rng: Random) -> bytes:
    """Return a value: any bytes, few kinds of them, or many counts."""
    length = rng.choice((0, 1, 3, 20, 400, 20_000))
    if rng.random() < 0.3:
        return rng.randbytes(length)
    if rng.random() < 0.3:
        return bytes([rng.randrange(256)]) * length
    return rng.choice((b"\x80\x40\x00", b"\x02\x00", b"\xfe\xff\xff\xff\x0f", b"\x0a\x00")) * 50


def _of_registry(rng: Random, values: list[bytes | None]) -> tuple[Decoding, Schemas]:
    """Return schemas by id that refer to each other, and let values name them."""
    by_id: dict[int, Schema] = {}
    for number in range(4):
        references = tuple(
            Reference(rng.choice(_NAMES) + ".proto", "s", rng.randrange(5))
            for _ in range(rng.randrange(2))
        )
        text = rng.choice((json.dumps(avro(rng)), json.dumps(json_schema(rng)), "no schema", ""))
        by_id[number] = Schema(rng.choice(("AVRO", "JSON")), text, references)
    for at, value in enumerate(values):
        if value is not None:
            values[at] = b"\0" + rng.randrange(5).to_bytes(4, "big") + value
    return Decoding("registry"), Schemas(by_id, {("s", number): number for number in by_id})


def _choice(rng: Random, values: list[bytes | None]) -> tuple[Decoding, Schemas]:
    """Return a decoding, and put values in that may fit it."""
    kind = rng.choice(("avro", "json_schema", "json", "msgpack", "registry", "utf8"))
    if kind == "registry":
        return _of_registry(rng, values)
    if kind in {"json", "json_schema"}:
        for at in range(0, len(values), 2):
            values[at] = json.dumps(any_json(rng)).encode()
    elif kind == "msgpack":
        for at in range(0, len(values), 2):
            found = any_json(rng)
            try:
                values[at] = msgpack.packb(found)
            except (OverflowError, UnicodeError):
                continue
    argument = {"avro": avro, "json_schema": json_schema}.get(kind)
    return Decoding(kind, None if argument is None else json.dumps(argument(rng))), Schemas()


def decode_by_chance(_folder: Path, seed: int) -> None:
    """Make schemas and values, and decode them as a scan does.

    Raises:
        ValueFaultError: see there.
    """
    rng = Random(seed)
    for number in range(TRIES):
        values: list[bytes | None] = [bytes_of(rng) for _ in range(rng.choice((1, 5, 60)))]
        decoding, schemas = _choice(rng, values)
        values = [value and value[:_LARGEST] for value in values]
        about = f"seed {seed}, try {number}, {decoding.name} {str(decoding.argument)[:300]}"
        ctypes.CDLL(None).malloc_trim(0)
        start_over()
        before = in_use()
        _decode(decoding, schemas, values, about)
        grown = in_memory("VmHWM") - before
        if grown > GROWTH_LIMIT:
            raise ValueFaultError(f"{about}: {grown >> 20} MiB")


def _decode(decoding: Decoding, schemas: Schemas, values: list[bytes | None], about: str) -> None:
    raw = pa.array(values, pa.large_binary())
    headers = pa.array(
        [[]] * len(values), pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    )
    sample = {"value": raw, "headers": headers}
    column = Column("value", lambda _: sample, lambda: schemas, lambda: [sample["value"]])
    try:
        made = decoder(decoding, column)
        columns = value_columns(
            ("value",),
            {"value": decoding},
            Masks.of(None),
            {"t"},
            sample=lambda *_: pa.table(sample),
            schemas=lambda: schemas,
            values=lambda *_: [raw],
        )
        schema = columns.schema(["t"])
    except SchemaError as error:
        str(error).encode()
        return
    try:
        rows = 0
        for part in columns.parts(pa.RecordBatch.from_pydict(sample)):
            batch, findings, _ = columns.apply(part, schema, "t", "p")
            batch.validate(full=True)
            rows += batch.num_rows
            for finding in findings:
                str(finding).encode()
        found = made.decode(raw, {"headers": headers})
    except Exception as error:
        raise ValueFaultError(f"{about}: {type(error).__name__}: {error}") from error
    if not rows == len(found.values) == len(values):
        raise ValueFaultError(f"{about}: {rows} rows of {len(values)} values")


def register_by_chance(_folder: Path, seed: int) -> None:
    """Read a topic of schemas whose records are damaged.

    Raises:
        ValueFaultError: reading raised.
    """
    rng = Random(seed)
    records: list[tuple[bytes | None, bytes | None]] = []
    for number in range(200):
        key = json.dumps({"keytype": "SCHEMA", "subject": rng.choice(_NAMES)})
        odd = rng.choice(("1e999", "1", "null", '"x"', "[]", "-1", "1.5", "1" * 5000))
        value = (
            f'{{"subject":"s","version":{odd},"id":{rng.choice(("1", odd))},'
            f'"schema":{rng.choice((json.dumps(json.dumps(avro(rng))), odd))},'
            f'"references":{rng.choice(("[]", odd, "[{}]", "[7]"))}}}'
        )
        data = bytearray(value.encode())
        if number % 3 == 0:
            data[rng.randrange(len(data))] = rng.randrange(256)
        records.append((key.encode(), bytes(data)))
    try:
        schemas_of_records(records)
    except Exception as error:
        raise ValueFaultError(f"seed {seed}: {type(error).__name__}: {error}") from error


VALUE_ROUNDS: Final[dict[str, Callable[[Path, int], None]]] = {
    "decode values": decode_by_chance,
    "register schemas": register_by_chance,
}
