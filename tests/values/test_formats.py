"""Protobuf, JSON Schema, MessagePack and formats of other packages."""

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import msgpack
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench.errors import MissingDependencyError, SchemaError
from workbench.runtime.extras import optional
from workbench.values import registry
from workbench.values.column import Column, ColumnDecoder, Decoded
from workbench.values.formats.protobuf import descriptors_of
from workbench.values.registry import AnyDecoding, Decoding, decoder
from workbench.values.schemas.schemas import Schemas

PROTO = Path(__file__).parent / "shop.proto"
PLAIN = """
syntax = "proto2";
package lab;
import "parts/unit.proto";
message Reading {
  required sint64 id = 1;
  optional string place = 2 [default = "here"];
  repeated fixed32 marks = 3;
  optional parts.Unit unit = 4;
  optional group Inner = 5 { optional bool on = 1; }
}
"""
UNIT = 'syntax = "proto3"; package parts; message Unit { string name = 1; int32 power = 2; }'


def made(how: AnyDecoding, values: list[bytes | None]) -> ColumnDecoder:
    raw = pa.array(values, pa.large_binary())
    return decoder(how, Column("value", lambda _: {"value": raw}, Schemas, lambda: [raw]))


def decode(how: AnyDecoding, values: list[bytes | None]) -> Decoded:
    found = made(how, values).decode(pa.array(values, pa.large_binary()), {})
    found.values.validate(full=True)
    assert len(found.values) == len(values)
    return found


def test_a_message_of_a_proto_file_is_a_struct(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "unit.proto").write_text(UNIT)
    (tmp_path / "reading.proto").write_text(PLAIN.replace("parts/unit", "unit"))
    value = b"\x08\x03\x1d\x07\x00\x00\x00\x1d\x08\x00\x00\x00\x22\x03\x0a\x01m\x2b\x08\x01\x2c"
    found = decode(f"protobuf:{tmp_path}/reading.proto#lab.Reading", [value, b"", None])
    assert found.values.to_pylist() == [
        {
            "id": -2,
            "place": None,
            "marks": [7, 8],
            "unit": {"name": "m", "power": 0},
            "inner": {"on": True},
        },
        None,  # a required field is missing
        None,
    ]
    assert [(p.row, p.count) for p in found.problems] == [(1, 1)]
    descriptors = tmp_path / "reading.desc"
    descriptors.write_bytes(descriptors_of(PLAIN, {"parts/unit.proto": UNIT}))
    assert decode(f"protobuf:{descriptors}", [value]).values[0] == found.values[0]


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        (f"{PROTO}#shop.Nothing", "no message shop.Nothing"),
        (f"{PROTO}.gone.proto", "No such file"),
        ("/dev/null/x.desc", "Not a directory"),
        (12, "takes a generated class"),
    ],
)
def test_what_is_no_message_is_refused(argument: Any, problem: str) -> None:
    with pytest.raises(SchemaError, match=problem):
        made(Decoding("protobuf", argument), [])


EMPTY = "syntax = 'proto3'; message A { int32 a = 1; }"


@pytest.mark.parametrize(
    ("text", "imports", "problem"),
    [
        ("message {", {}, "not compiled"),
        ('import "gone.proto"; message A {}', {}, "not compiled"),
        (EMPTY, {"../../out.proto": ""}, "not the name of a schema"),
        (EMPTY, {"/etc/out.proto": ""}, "not the name of a schema"),
        (EMPTY, {"a//out.proto": ""}, "not the name of a schema"),
        (EMPTY, {"./out.proto": ""}, "not the name of a schema"),
        (EMPTY, {"a\\out.proto": ""}, "not the name of a schema"),
        (EMPTY, {"C:/out.proto": ""}, "not the name of a schema"),
        (EMPTY, {"grpc_tools/__init__.py": "raise SystemExit"}, "not the name of a schema"),
    ],
)
def test_what_does_not_compile_is_refused(text: str, imports: Any, problem: str) -> None:
    with pytest.raises(SchemaError, match=problem):
        descriptors_of(text, imports)


def test_damaged_messages_are_null_or_such_messages() -> None:
    randomly = random.Random(3)
    how = f"protobuf:{PROTO}#shop.Payment"
    good = b"\x08\x01\x11" + bytes(8) + b"\x22\x05\x0a\x01a\x10\x02\x52\x04\x12\x02\x0a\x00"
    values: list[bytes | None] = [good]
    for _ in range(2000):
        damaged = bytearray(good)
        for _ in range(randomly.randint(1, 4)):
            damaged[randomly.randrange(len(damaged))] = randomly.randrange(256)
        values += [bytes(damaged), good]
    found = decode(how, values)
    assert all(value == found.values[0] for value in found.values[::2])
    deep = b""
    for _ in range(5000):
        size = len(deep)
        deep = b"\x12" + bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14]) + deep
    assert decode(how, [b"\x52" + deep[1:]]).values.null_count == 1


SCHEMA = {
    "$defs": {"Line": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "price": {"type": ["number", "null"]},
        "name": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "more": {"type": ["string", "integer"]},
        "self": {"$ref": "#"},
        "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
    },
}


def test_times_that_no_nanoseconds_hold_are_null_alone(tmp_path: Path) -> None:
    """As 0001-01-01, which several languages have for a time that was not set."""
    schema = """syntax = "proto3"; import "google/protobuf/timestamp.proto";
        import "google/protobuf/duration.proto"; message M { google.protobuf.Timestamp at = 1;
        repeated google.protobuf.Duration for = 2; map<string, int64> of = 3; }"""
    (tmp_path / "m.proto").write_text(schema)
    from google.protobuf.duration_pb2 import Duration
    from google.protobuf.timestamp_pb2 import Timestamp

    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    far, near = Timestamp(seconds=-62135596800, nanos=1), Timestamp(seconds=5)
    both = [
        Duration(seconds=-315576000000).SerializeToString(),
        Duration(nanos=7).SerializeToString(),
    ]
    entry = field(3, field(1, b"k") + b"\x10\x02")
    found = decode(
        f"protobuf:{tmp_path}/m.proto",
        [
            field(1, far.SerializeToString()) + entry,
            b"".join(field(2, each) for each in both),
            field(1, near.SerializeToString()),
        ],
    )
    durations, entries = pa.list_(pa.int64()), pa.map_(pa.string(), pa.int64())
    assert found.values.cast(
        pa.struct([("at", pa.int64()), ("for", durations), ("of", entries)])
    ).to_pylist() == [
        {"at": None, "for": [], "of": [("k", 2)]}, {"at": None, "for": [None, 7], "of": []},
        {"at": 5 * 10**9, "for": [], "of": []},
    ]  # fmt: skip
    assert found.unfit == {
        0: {"at": "0001-01-01T00:00:00.000000001Z"},
        1: {"for[]": "-315576000000.000000000s"},
    }
    (problem,) = found.problems
    assert (problem.row, problem.count, problem.is_whole) == (0, 2, False)
    assert problem.found.startswith(
        "field at is beyond the times that a table holds (expected timestamp[ns"
    )


def test_json_has_the_type_of_its_schema() -> None:
    value = {"id": 1.0, "price": 2, "name": None, "lines": [{"n": 3, "x": 4}], "more": 5,
             "self": {"id": 7}, "map": {"a": True}}  # fmt: skip
    bad = [{"id": "1"}, {"id": 2**63}, {"price": True}, {"lines": {}}, [], {"map": {"a": 1}}, "x"]
    found = decode(Decoding("json_schema", SCHEMA), [json.dumps(v).encode() for v in [value, *bad]])
    assert found.values.to_pylist() == [
        {"id": 1, "price": 2.0, "name": None, "lines": [{"n": 3}], "more": "5",
         "self": '{"id": 7}', "map": [("a", True)]},
        *[None] * len(bad),
    ]  # fmt: skip
    assert sum(problem.count for problem in found.problems) == len(bad)


def test_json_that_arrow_reads_is_read_by_arrow() -> None:
    kind = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}}}
    values: list[bytes | None] = [b'{"a":"x","b":true}', b'{"a":1}', b"nope", None]
    found = decode(Decoding("json_schema", kind), values)
    assert found.values.to_pylist() == [{"a": "x", "b": True}, {"a": "1", "b": None}, None, None]
    assert [(problem.row, problem.count, problem.found) for problem in found.problems] == [
        (2, 1, "not a JSON object")
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@examples(60)
@given(JSON, JSON)
def test_any_json_is_a_schema_or_refused_and_any_value_is_read_or_a_problem(
    schema: Any, value: Any
) -> None:
    try:
        found = decode(Decoding("json_schema", json.dumps({"properties": {"a": schema}})),
                       [json.dumps({"a": value}).encode()])  # fmt: skip
    except SchemaError:
        return
    assert found.values.null_count == len(found.problems)


def test_messagepack_has_the_type_of_its_first_values() -> None:
    pack = msgpack.packb
    values: list[bytes | None] = [
        pack({"a": 1, "t": msgpack.Timestamp(5, 6), 3: b"x"}), pack({"l": [{"s": "x"}]}), None,
        b"\xc1", pack({"a": "text"}), pack([1]), pack({"a": 2})[:-1],
    ]  # fmt: skip
    kind = pa.schema([("a", pa.int64()), ("t", pa.timestamp("ns")), ("3", pa.binary())])
    found = decode(Decoding("msgpack", kind), values)
    assert found.values.cast(
        pa.struct([("a", pa.int64()), ("t", pa.int64()), ("3", pa.binary())])
    ).to_pylist() == [
        {"a": 1, "t": 5 * 10**9 + 6, "3": b"x"}, {"a": None, "t": None, "3": None},
        None, None, {"a": None, "t": None, "3": None}, None, None,
    ]  # fmt: skip
    assert sum(problem.count for problem in found.problems) == 4
    assert str(made("msgpack", values[:3]).kind).startswith("struct<a: int64, t: timestamp[ns]")
    assert made("msgpack", [pack(1), pack({"a": 1})]).kind == pa.string()
    assert decode("msgpack", [pack(1), pack({"a": 1})]).values.to_pylist() == ["1", '{"a": 1}']


@examples(60)
@given(st.lists(st.binary(max_size=40), max_size=8))
def test_any_bytes_are_read_or_a_problem(values: list[bytes]) -> None:
    kind = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])
    for how in (Decoding("msgpack", kind), Decoding("json_schema", SCHEMA), "utf8", "hex",
                "consumer_offsets", f"protobuf:{PROTO}#shop.Payment"):  # fmt: skip
        raw = pa.array(values, pa.large_binary())
        keys = pa.array([None] * len(values), pa.large_binary())
        found = made(how, []).decode(raw, {"key": keys})
        assert len(found.values) == len(values)
        assert found.values.type == made(how, []).kind


def test_headers_that_announce_more_than_there_is_end_at_once() -> None:
    started = time.process_time()
    nested = b"\xdd\x7f\xff\xff\xff" * 1000
    for value in (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", nested, b"\x91" * 100_000):
        assert decode(Decoding("msgpack", pa.list_(pa.int64())), [value]).values.null_count == 1
    assert time.process_time() - started < 5


def test_a_package_adds_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shouting.py").write_text(
        "from workbench.values.column import WholeValues\n"
        "from workbench.values.formats.text import Utf8Decoder\n"
        "def loud(argument, column):\n"
        "    assert (argument, column.name) == ('very', 'value')\n"
        "    return WholeValues(Utf8Decoder())\n"
    )
    info = tmp_path / "shouting-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{registry.ENTRY_POINTS}]\nloud = shouting:loud\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.added_formats.cache_clear()
    try:
        assert "loud" in registry.names()
        assert decode("loud:very", [b"tea"]).values.to_pylist() == ["tea"]
    finally:
        registry.added_formats.cache_clear()
        sys.modules.pop("shouting", None)


def test_a_missing_package_is_named_with_its_extra() -> None:
    with pytest.raises(
        MissingDependencyError, match=r"pip install 'kafka-log-workbench\[values\]'"
    ):
        optional("no_such_module", "msgpack")


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ("avra", "unknown decoding 'avra'"),
        ("utf8:x", "takes no schema"),
        ("json:x", "json takes an Arrow schema"),
        ("msgpack:x", "msgpack takes an Arrow type"),
        ("registry:/nowhere", "takes a folder"),
        ("avro:/nowhere.avsc", "No such file"),
        ("avro:/dev/zero", "found a character device, expected a regular file"),
        ("protobuf:/dev/zero", "found a character device, expected a regular file"),
        (12, "not a text, Decoding or Arrow type"),
    ],
)
def test_a_decoding_without_meaning_is_refused(how: Any, problem: str) -> None:
    with pytest.raises(SchemaError, match=problem):
        made(how, [])


def test_a_folder_without_schemas_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="no file as"):
        made(f"avro:{tmp_path}", [])
    for name in ("1.avsc", "1-again.avsc"):
        (tmp_path / name).write_text('"int"')
    with pytest.raises(SchemaError, match="two files are schema 1"):
        made(f"avro:{tmp_path}", [])
