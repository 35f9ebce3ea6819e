"""Avro as columns: held equal to fastavro, to the reader by recursion, and safe on any bytes."""

import io
import random
import time
from decimal import Decimal
from functools import partial
from typing import Any

import fastavro
import fastavro.schema
import fastavro.utils
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.values.avro_values import schemas, written
from workbench.errors import SchemaError
from workbench.values.avro.decoder import AvroDecoder
from workbench.values.avro.reader import read_value, special
from workbench.values.avro.schema import parse_schema
from workbench.values.column import Decoded, WholeValues
from workbench.values.formats.pieces import FittingReader
from workbench.values.guard import ENTRIES, MOST_ENTRIES


def decode(schema: Any, values: list[bytes | None]) -> Decoded:
    found = WholeValues(AvroDecoder(schema)).decode(pa.array(values, pa.large_binary()), {})
    found.values.validate(full=True)
    assert len(found.values) == len(values)
    return found


def without_logical_types(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {k: without_logical_types(v) for k, v in schema.items() if k != "logicalType"}
    return [without_logical_types(each) for each in schema] if isinstance(schema, list) else schema


@examples(60)
@given(schemas(), st.integers(0, 2**32))
def test_columns_hold_what_the_reader_by_recursion_reads(schema: Any, seed: int) -> None:
    random.seed(seed)
    bare = without_logical_types(schema)
    values = [written(bare, value) for value in fastavro.utils.generate_many(bare, 5)]
    root = parse_schema(schema)
    reader = FittingReader(root.arrow, "", partial(read_value, root), special, names_all=False)
    told = reader.read(values)
    found = decode(schema, [*values, None])
    assert found.values.equals(pa.concat_arrays([told, pa.nulls(1, root.arrow)]))
    # A number that is not a time, too long a decimal.
    assert sum(problem.count for problem in found.problems) == len(reader.bad | reader.unfit)
    assert found.unfit == {row: each.texts for row, each in reader.unfit.items()}


@examples(60)
@given(schemas(), st.integers(0, 2**32))
def test_columns_hold_what_fastavro_reads(schema: Any, seed: int) -> None:
    random.seed(seed)
    bare = without_logical_types(schema)
    parsed = fastavro.parse_schema(bare)
    values = [written(bare, value) for value in fastavro.utils.generate_many(bare, 4)]
    found = decode(bare, list(values)).values.to_pylist()
    for value, ours in zip(values, found, strict=True):
        theirs = fastavro.schemaless_reader(
            io.BytesIO(value), parsed, None, return_record_name=True, return_named_type=False
        )
        assert same(ours, theirs, bare, {}), (ours, theirs)


def same(ours: Any, theirs: Any, schema: Any, named: dict[str, Any]) -> bool:
    """Whether both mean the same, told apart by the schema alone."""
    if isinstance(schema, str):
        schema = named.get(schema, schema)
    if isinstance(schema, list):
        kinds = [branch for branch in schema if branch != "null"]
        if theirs is None:
            return ours is None
        if len(kinds) == 1 and len(schema) == 2:
            return same(ours, theirs, kinds[0], named)
        if not kinds:
            return ours is None
        set_ = {name: value for name, value in ours.items() if value is not None}
        if isinstance(theirs, tuple):  # a record, with its name
            name, theirs = theirs
            record = next(each for each in kinds if isinstance(each, dict))
            return list(set_) == [name.rpartition(".")[2]] and same(
                set_[record["name"]], theirs, record, named
            )
        (value,) = set_.values()
        return bool(value == theirs or (value != value and theirs != theirs))  # noqa: PLR0124
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "record":
        theirs = theirs[1] if isinstance(theirs, tuple) else theirs
        return all(
            same(ours[f["name"]], theirs[f["name"]], f["type"], named) for f in schema["fields"]
        )
    if kind == "array":
        return len(ours) == len(theirs) and all(
            same(a, b, schema["items"], named) for a, b in zip(ours, theirs, strict=True)
        )
    if kind == "map":
        pairs = dict(ours)
        return pairs.keys() == theirs.keys() and all(
            same(pairs[k], theirs[k], schema["values"], named) for k in pairs
        )
    return bool(ours == theirs or (ours != ours and theirs != theirs))  # noqa: PLR0124


ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "text", "type": ["null", "string"]},
        {"name": "lines", "type": {"type": "array", "items": {
            "type": "record", "name": "Line",
            "fields": [{"name": "sku", "type": "string"}, {"name": "count", "type": "int"}]}}},
        {"name": "tags", "type": {"type": "map", "values": ["null", "double", "string"]}},
        {"name": "price", "type":
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    ],
}  # fmt: skip
VALUE = {
    "id": -(2**62),
    "text": "grün",
    "lines": [{"sku": "TEA", "count": 2}, {"sku": "", "count": -1}],
    "tags": {"a": 1.5, "b": None, "c": "x"},
    "price": Decimal("-12.50"),
}


def test_types_are_exact() -> None:
    found = decode(ORDER, [written(ORDER, VALUE)])
    assert found.values.to_pylist() == [
        {
            **VALUE,
            "tags": [
                ("a", {"double": 1.5, "string": None}),
                ("b", None),
                ("c", {"double": None, "string": "x"}),
            ],
        }
    ]
    assert found.values.type.field("price").type == pa.decimal128(9, 2)
    assert not found.problems


@pytest.mark.parametrize(
    ("kind", "arrow"),
    [
        ({"type": "long", "logicalType": "timestamp-micros"}, pa.timestamp("us", "UTC")),
        ({"type": "long", "logicalType": "local-timestamp-nanos"}, pa.timestamp("ns")),
        ({"type": "int", "logicalType": "date"}, pa.date32()),
        ({"type": "string", "logicalType": "uuid"}, pa.large_string()),
        ({"type": "int", "logicalType": "timestamp-millis"}, pa.int32()),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3},
         pa.large_binary()),
        ({"type": "fixed", "name": "F", "size": 40, "logicalType": "decimal", "precision": 3},
         pa.decimal128(3, 0)),
        (["null"], pa.struct([])),
    ],
)  # fmt: skip
def test_logical_types_are_arrows_and_invalid_ones_mean_nothing(
    kind: Any, arrow: pa.DataType
) -> None:
    assert parse_schema(kind).arrow == arrow


def test_a_decimal_with_too_many_digits_is_null() -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 3}
    values = [b"\x04\x03\xe7", b"\x04\x03\xe8", b"\x04\xfc\x19", b"\x04\xfc\x18", b"\x00"]
    assert decode(kind, list(values)).values.to_pylist() == [999, None, -999, None, 0]


OUT_OF_RANGE: list[tuple[Any, list[bytes], list[str]]] = [
    ("int", [b"\x80\x80\x80\x80\x10", b"\x81\x80\x80\x80\x10"], ["2147483648", "-2147483649"]),
    ({"type": "int", "logicalType": "time-millis"},
     [b"\x80\xf0\xb2\x52", b"\x01"], ["86400000", "-1"]),
    ({"type": "long", "logicalType": "time-micros"}, [b"\x01"], ["-1"]),
    ({"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1},
     [b"\x04\x03\xe8", b"\x28" + b"\xff" * 10 + b"\0" * 10, b"\xfe\x03" + b"\x7f" * 255],
     ["100.0", f"-{256**10}"[:-1] + f".{256**10 % 10}", ""]),
    ({"type": "bytes", "logicalType": "decimal", "precision": 38},
     [b"\x20\x7f" + b"\xff" * 15], [str(2**127 - 1)]),
    ({"type": "fixed", "name": "F", "size": 20, "logicalType": "decimal", "precision": 4},
     [b"\0" * 18 + b"\x27\x10"], ["10000"]),
]  # fmt: skip


@pytest.mark.parametrize("where", ["field", "nullable", "item", "of itself"])
@pytest.mark.parametrize(("kind", "values", "texts"), OUT_OF_RANGE)
def test_a_field_that_is_out_of_range_is_null_alone_and_its_text_is_kept(
    where: str, kind: Any, values: list[bytes], texts: list[str]
) -> None:
    around = {
        "field": (kind, b"", b""),
        "nullable": (["null", kind], b"\x02", b""),
        "item": ({"type": "array", "items": kind}, b"\x02", b"\x00"),
        "of itself": (kind, b"", b""),
    }
    wrapped, before, after = around[where]
    fields = [{"name": "a", "type": "long"}, {"name": "x", "type": wrapped}]
    fields.append({"name": "b", "type": "string"})
    end = b"\x02z"
    if where == "of itself":
        fields.append({"name": "c", "type": ["null", "R"]})
        end += b"\x00"
    schema = {"type": "record", "name": "R", "fields": fields}
    found = decode(schema, [b"\x02" + before + each + after + end for each in values])
    path = "x[]" if where == "item" else "x"
    for row, (value, text) in enumerate(zip(found.values.to_pylist(), texts, strict=True)):
        assert (value["a"], value["x"], value["b"]) == (1, [None] if path == "x[]" else None, "z")
        assert list(found.unfit[row]) == [path]
        assert not text or found.unfit[row][path] == text
    (problem,) = found.problems
    assert (problem.row, problem.count, problem.is_whole) == (0, len(values), False)


def test_a_type_in_itself_is_text_with_its_json() -> None:
    tree = {
        "type": "record",
        "name": "Tree",
        "fields": [
            {"name": "size", "type": "long"},
            {"name": "parts", "type": {"type": "array", "items": "Tree"}},
        ],
    }
    value = {"size": 3, "parts": [{"size": 1, "parts": [{"size": 0, "parts": []}]}]}
    assert decode(tree, [written(tree, value)]).values.to_pylist() == [
        {"size": 3, "parts": ['{"size": 1, "parts": [{"size": 0, "parts": []}]}']}
    ]
    deep = b"\x02\x02" * 100_000
    started = time.process_time()
    found = decode(tree, [deep, written(tree, value)])
    assert found.problems[0].count == 1
    assert time.process_time() - started < 5


def test_damaged_values_are_null_and_take_nothing_from_the_others() -> None:
    good = written(ORDER, VALUE)
    randomly = random.Random(5)
    values: list[bytes | None] = []
    for _ in range(4000):
        damaged = bytearray(good)
        for _ in range(randomly.randint(1, 3)):
            at = randomly.randrange(len(damaged))
            damaged[at : at + randomly.randint(0, 2)] = randomly.randbytes(randomly.randint(0, 2))
        values += [good, bytes(damaged)]
    found = decode(ORDER, values)
    (whole,) = decode(ORDER, [good]).values
    rows = found.values
    assert all(rows[row] == whole for row in range(0, len(values), 2))
    root = parse_schema(ORDER)

    def load(value: bytes) -> Any:
        ENTRIES.left = MOST_ENTRIES
        return read_value(root, value)

    reader = FittingReader(rows.type, "", load, special, names_all=False)
    assert rows.equals(reader.read([each or b"" for each in values]))


@pytest.mark.parametrize("cut", range(len(written(ORDER, VALUE))))
def test_a_value_cut_anywhere_is_a_problem(cut: int) -> None:
    found = decode(ORDER, [written(ORDER, VALUE)[:cut]])
    assert (found.values.null_count, len(found.problems)) == (1, 1)


HUGE = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # 2**63 - 1


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("string", HUGE),
        ("bytes", HUGE),
        ("long", b"\xff" * 11),
        ({"type": "array", "items": "null"}, HUGE + b"\x00"),
        ({"type": "array", "items": {"type": "array", "items": "null"}},
         b"\xd0\x0f" + (b"\x80\x40\x00" * 1000)),
        ({"type": "map", "values": "null"}, HUGE),
        ({"type": "array", "items": "int"}, b"\x01" * 1000),
        ({"type": "array", "items": "int"}, b"\x01\xff" * 1000),
        (["null", "int"], b"\x04"),
        (["null", "int"], b"\x01"),
    ],
)  # fmt: skip
def test_huge_lengths_end_at_once(schema: Any, value: bytes) -> None:
    started = time.process_time()
    found = decode(schema, [value] * 3)
    assert (found.values.null_count, found.problems[0].count) == (3, 3)
    assert time.process_time() - started < 5


def test_items_without_bytes_are_read_within_a_bound() -> None:
    nulls = {"type": "array", "items": "null"}
    assert decode(nulls, [b"\x06\x00"]).values.to_pylist() == [[None] * 3]


def laughs() -> Any:
    """Each record has ten of the one before: 10**9 types in all."""
    kind: Any = "int"
    for level in range(9):
        first = {"name": "f0", "type": kind}
        others = [{"name": f"f{n}", "type": kind["name"] if level else "int"} for n in range(1, 10)]
        kind = {"type": "record", "name": f"L{level}", "fields": [first, *others]}
    return kind


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("", "not JSON"),
        ("{}", "has no type"),
        ("[]", "no branches"),
        ("[" * 100_000, "nested too deeply"),
        ('{"type":"array"}', "is not a type"),
        ('{"type":"record","name":"R"}', "no fields"),
        ('{"type":"record","name":"R","fields":[{"name":"a","type":"Nope"}]}', "unknown type"),
        ('{"type":"fixed","name":"F","size":0}', "no size"),
        ('{"type":"enum","name":"E"}', "no symbols"),
        ([["int"]], "directly in a union"),
        (laughs(), "more than 5,000 types"),
    ],
)
def test_what_is_not_a_schema_is_refused(schema: Any, problem: str) -> None:
    with pytest.raises(SchemaError, match=problem):
        AvroDecoder(schema)


def test_named_types_come_from_references_and_namespaces() -> None:
    line = {"type": "record", "name": "shop.Line", "fields": [{"name": "n", "type": "int"}]}
    order = {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [{"name": "first", "type": "Line"}, {"name": "next", "type": "shop.Line"}],
    }
    kind = AvroDecoder(order, (line,)).kind
    assert str(kind) == "struct<first: struct<n: int32>, next: struct<n: int32>>"


def test_many_values_are_decoded_in_parts_that_fit() -> None:
    kind = {"type": "record", "name": "R", "fields": [
        {"name": f"f{n}", "type": "int"} for n in range(4000)]}  # fmt: skip
    found = decode(kind, [b"\x02" * 4000] * 3000)
    assert np.asarray(found.values.field("f3999")).tolist() == [1] * 3000
