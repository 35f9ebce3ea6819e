"""What hostile schemas and values come to: a problem of theirs, in bounded memory and time."""

import json
import re
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.values.attacks import decode
from workbench.errors import SchemaError
from workbench.values.avro.decoder import AvroDecoder
from workbench.values.column import Decoded, Others
from workbench.values.guard import GuardedDecoder
from workbench.values.schemas import framed
from workbench.values.schemas.schemas import Schema, Schemas, schemas_of_records

MOST: int = 400 << 20
"""Bytes that any of them may take."""

EXPECTED: dict[str, Any] = {
    "small": [1, 0, None],
    "fixed_of_64_mib_that_is_null": [40, 40, None],
    "fixed_of_2_gib": [1, 1, r"1: .*truncated"],
    "empty_records_in_arrays": [60_000, None, None],
    "wide_records_that_are_null_in_an_array": [3, 1, r"1: decoded it would take 2,\d+,\d+,\d+ b"],
    "recursive_records_of_items_without_bytes": [300, 0, None],
    "surrogate_as_a_name": "SchemaError: it cannot be used: .*surrogates not allowed",
    "surrogate_in_json": ["struct<a: int64>", [1, None, 2]],
    "json_of_100_000_names": ["struct<a: int64>", [1, None, 2]],
    "json_of_many_names_together": "SchemaError: .*more than 5,000 fields; give their schema",
    "empty_objects_in_a_list_of_wide_ones": [[True, False], "decoded it would take 3,.*"],
    "version_that_is_infinite": [[["good", 1]], ["the record of bad is not a schema"]],
    "import_with_nul": [1, 1, ".*is not the name of a schema"],
    "import_of_300_characters": [1, 1, ".*is not the name of a schema"],
    "import_in_an_import": [1, 1, ".*the import 'a.proto/b.proto': .*"],
    "import_with_a_surrogate": [1, 1, ".*the import .*surrogates not allowed"],
    "chain_of_2_000_messages": [1, 1, ".*messages nested more than 60 deep"],
    "wide_messages_without_bytes": [2, 1, "1: decoded it would take .*"],
    "avro_schema_of_50_mib": [1, 1, ".*more than 16,777,216 characters"],
    "schemas_by_guid": [4000, 0, None],
}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[Any, int]]:
    """What each attack came to, and the memory that it took, in a process with a limit."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.values.attacks"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: (result, grown) for name, result, grown in lines}


@pytest.mark.parametrize("name", EXPECTED)
def test_an_attack_is_a_problem_of_what_made_it(
    outcomes: dict[str, tuple[Any, int]], name: str
) -> None:
    result, grown = outcomes[name]
    _check(result, EXPECTED[name])
    assert grown < MOST


def _check(found: Any, expected: Any) -> None:
    if isinstance(expected, list) and isinstance(found, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            if other is not None or one is None:
                _check(one, other)
    elif isinstance(expected, str):
        assert re.match(expected, found), found
    else:
        assert found == expected


def test_every_attack_has_its_outcome(outcomes: dict[str, tuple[Any, int]]) -> None:
    assert outcomes.keys() == EXPECTED.keys()


class Moody:
    """A decoder, as another package might bring it, that raises at some values."""

    kind = pa.string()
    needs = ()

    def decode(self, column: pa.Array, _others: Others) -> Decoded:
        values = column.to_pylist()
        for value in values:
            if value == b"memory":
                raise MemoryError
            if value == b"recursion":
                raise RecursionError
            if value == b"key":
                raise KeyError("no such thing")
        return Decoded(pa.array([value.decode() for value in values], self.kind))


def test_what_a_decoder_raises_is_a_problem_of_the_values_that_raise_it() -> None:
    bad = {5: b"memory", 17: b"recursion", 18: b"recursion", 40: b"key", 60: b"\xff"}
    values = [bad.get(at, b"%d" % at) for at in range(100)]
    found = GuardedDecoder(Moody()).decode(pa.array(values, pa.large_binary()), {})
    assert found.values.to_pylist() == [None if at in bad else f"{at}" for at in range(100)]
    told = {(each.row, each.count): each.found for each in found.problems}
    assert told.keys() == {(5, 1), (17, 2), (40, 1), (60, 1)}
    assert told[17, 2] == "nested too deeply"
    assert told[5, 1].startswith("not enough memory")


def test_schemas_that_take_long_have_a_bound_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framed, "_MOST_SECONDS", 0.3)
    texts = [f'syntax = "proto3"; message M {{ int32 slow_{at} = 1; }}' for at in range(40)]
    schemas = Schemas({at: Schema("PROTOBUF", text) for at, text in enumerate(texts)})
    values = [b"\x00" + at.to_bytes(4, "big") + b"\x00" for at in range(40)]
    start = time.process_time()
    found = decode("registry", values, schemas)
    assert time.process_time() - start < 20
    late = [each for each in found.problems if "the schemas before it took" in each.found]
    assert 0 < len(late) == found.values.null_count < 40


def seconds(make: Any, count: int) -> float:
    start = time.process_time()
    make(count)
    return time.process_time() - start


def by_guid(count: int) -> None:
    guids = [uuid.UUID(int=at + 1) for at in range(count)]
    schemas = Schemas(
        {at: Schema("AVRO", '"long"', guid=str(guid)) for at, guid in enumerate(guids)}
    )
    found = decode("registry", [b"\x01" + guid.bytes + b"\x02" for guid in guids], schemas)
    assert not found.values.null_count


def subjects_of_one_id(count: int) -> None:
    records = [
        (
            json.dumps({"keytype": "SCHEMA", "subject": f"s{at}"}).encode(),
            json.dumps({"subject": f"s{at}", "version": 1, "id": 1, "schema": '"long"'}).encode(),
        )
        for at in range(count)
    ]
    assert len(schemas_of_records(records).by_id[1].subjects) == count


def ids_in_headers(count: int) -> None:
    raw = pa.array([b"\x02"] * count, pa.large_binary())
    header = {"key": "__value_schema_id", "value": b"\x00\x00\x00\x00\x01"}
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = pa.array([[header]] * count, kind)
    from workbench.values.column import Column
    from workbench.values.registry import decoder

    sample = {"value": raw, "headers": headers}
    schemas = Schemas({1: Schema("AVRO", '"long"')})
    made = decoder("registry", Column("value", lambda _: sample, lambda: schemas, list))
    assert not made.decode(raw, {"headers": headers}).values.null_count


@pytest.mark.alone
@pytest.mark.parametrize("work", [by_guid, subjects_of_one_id, ids_in_headers])
def test_four_times_as_many_take_about_four_times_as_long(work: Any) -> None:
    work(100)
    few = min(seconds(work, 4000) for _ in range(2))
    assert seconds(work, 16_000) < 9 * few + 0.2  # 16 times, if it were quadratic


def test_a_large_fixed_is_read_as_bytes_of_any_length() -> None:
    schema = {"type": "fixed", "name": "F", "size": 100}
    found = decode("avro:" + json.dumps(schema), [bytes(range(100)), b"short"])
    assert found.values.to_pylist() == [bytes(range(100)), None]
    assert AvroDecoder({**schema, "size": 16}).kind == pa.binary(16)


def test_a_schema_that_raises_anything_is_refused_as_a_schema() -> None:
    for schema in ({"type": ["\udc00"]}, {"type": "fixed", "name": "F", "size": 10**30}):
        with pytest.raises(SchemaError):
            decode("avro:" + json.dumps(schema), [b"\x00"])
    symbols = {"type": "enum", "name": "E", "symbols": ["\udc00"]}
    found = decode("avro:" + json.dumps(symbols), [b"\x00"])
    assert (found.values.null_count, len(found.problems)) == (1, 1)
