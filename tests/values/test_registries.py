"""Values as the serializers of schema registries write them, through a real producer.

confluent-kafka's serializers write through a server of ours that may write, and have written the
sample through a real broker. The schemas are in the topic `_schemas` of the same directory.
"""

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import workbench
from tests.values.registry_shop import AT, write_registry_shop
from workbench.errors import CorruptDataWarning
from workbench.loaders.scan.scan import stored_in
from workbench.values.column import Column
from workbench.values.registry import Decoding, decoder
from workbench.values.schemas.schemas import Schemas, schemas_of_records

SAMPLE = Path(__file__).parents[2] / "sample_data" / "registry-4.3.1"


@pytest.fixture(scope="module", params=["through our server", "by a real broker"])
def shop(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> workbench.LogDirectory:
    """A log directory with topics of each format, and `_schemas`."""
    if request.param == "by a real broker":
        return workbench.open_log_directory(SAMPLE)
    folder = tmp_path_factory.mktemp("registry")
    with workbench.serve(folder, writable=True) as server:
        write_registry_shop(server.bootstrap_servers)
    return workbench.open_log_directory(folder)


def test_avro_is_read_with_the_schemas_of_the_log_itself(shop: workbench.LogDirectory) -> None:
    scan = shop.scan(topics="orders", decode={"key": "avro", "value": "avro"})
    with pytest.warns(CorruptDataWarning):
        table = scan.to_arrow()
    assert str(table.schema.field("value").type) == (
        "struct<id: int64, text: large_string, at: timestamp[ms, tz=UTC]>"
    )
    assert table["value"].to_pylist() == [
        {"id": 1, "text": "tea", "at": None},
        {"id": 2, "text": "grün", "at": None},
        {"id": 2**40, "text": "later", "at": AT},
        None, None, None,
    ]  # fmt: skip
    assert table["key"].to_pylist() == [1, 2, 2**40, None, None, None]
    unknown = "schema 99 of the topic _schemas: unknown id"
    bare = "it does not begin with the id of a schema"
    assert [(finding.kind, finding.offset, finding.found) for finding in scan.findings] == [
        ("undecoded", 3, f"1 of 6 keys cannot be decoded: {unknown}"),
        ("undecoded", 4, f"1 of 6 values cannot be decoded: {bare}"),
        ("undecoded", 5, f"1 of 6 values cannot be decoded: {unknown}"),
    ]


def test_protobuf_is_read_with_its_message_indexes(shop: workbench.LogDirectory) -> None:
    scan = shop.scan(topics="payments", decode={"value": "protobuf"})
    with pytest.warns(CorruptDataWarning, match="1 key or value null"):
        values = scan.to_arrow()["value"].to_pylist()
    assert values[3] is None
    (finding,) = scan.findings
    assert "not a shop.Payment" in finding.found
    found = values[2]
    assert json.loads(found.pop("more")) == {"why": ["gift"]}
    whole = found.pop("whole")
    assert json.loads(whole["parts"][0]) == {"name": "half", "parts": [{"name": "quarter"}]}
    at = found.pop("at")
    assert at.to_pydatetime() == AT if hasattr(at, "to_pydatetime") else at == AT
    assert found == {
        "id": 2**64 - 3, "amount": 1.5, "state": "PAID", "counts": [("a", 2)], "proofs": [b"x"],
        "points": 2, "name": None, "number": 7,
    }  # fmt: skip


def test_json_is_read_by_its_schema(shop: workbench.LogDirectory) -> None:
    table = shop.scan(topics="clicks", decode={"value": "json_schema"}).to_arrow()
    assert table["value"].to_pylist() == [
        {"page": "/", "ms": 5, "tags": [("a", 1.0)], "any": "[1]"}
    ]


def test_ids_are_read_from_headers(shop: workbench.LogDirectory) -> None:
    table = shop.scan(topics="late", decode={"value": "registry"}).to_arrow()
    assert [(v["id"], v["text"]) for v in table["value"].to_pylist()] == [(3, "in a header")]


def test_a_format_that_the_schema_is_not_of_is_a_finding(shop: workbench.LogDirectory) -> None:
    scan = shop.scan(topics="clicks", decode={"value": "avro"})
    with pytest.warns(CorruptDataWarning):
        assert scan.to_arrow()["value"].to_pylist() == [None]
    assert "is JSON, not AVRO" in scan.findings[0].found


def test_schemas_of_a_folder_and_given_ones_read_the_same(
    shop: workbench.LogDirectory, tmp_path: Path
) -> None:
    stored = shop.scan(topics="orders", decode={"value": "avro"})
    schemas: Schemas = stored_in(shop.listing)
    for number, schema in schemas.by_id.items():
        ending = {"AVRO": "avsc", "JSON": "json", "PROTOBUF": "proto"}[schema.type]
        (tmp_path / f"{number}-a.{ending}").write_text(schema.text)
    given = {number: s.text for number, s in schemas.by_id.items() if s.type == "AVRO"}
    with pytest.warns(CorruptDataWarning):
        expected = stored.to_arrow()
    for decoding in (f"avro:{tmp_path}", Decoding("avro", given), Decoding("avro", schemas)):
        with pytest.warns(CorruptDataWarning):
            assert shop.scan(topics="orders", decode={"value": decoding}).to_arrow() == expected


def test_decoders_can_be_sent_to_other_processes(shop: workbench.LogDirectory) -> None:
    for topic, name in (("orders", "avro"), ("payments", "protobuf"), ("clicks", "json_schema")):
        values = shop.scan(topics=topic, decode={"value": name}).values
        again = pickle.loads(pickle.dumps(values))  # noqa: S301
        assert again.schema([topic]) == values.schema([topic])


def test_a_registrys_topic_is_read_whatever_it_holds() -> None:
    good = json.dumps({"subject": "s", "version": 1, "id": 7, "schema": '"int"'}).encode()
    key = b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}'
    records: list[tuple[bytes | None, bytes | None]] = [
        (b"\xff", b"{}"), (key, b"nope"), (key, b"[]"), (key, b'{"id":"x"}'), (key, good),
        (None, good), (key, None), (b"[" * 100_000, good), (b"[]", good),
    ]  # fmt: skip
    found = schemas_of_records(records)
    assert list(found.by_id) == [7]
    assert len(found.problems) == 5


def test_references_are_followed_and_circles_end() -> None:
    line = {"type": "record", "name": "Line", "fields": [{"name": "n", "type": "int"}]}
    order = {"type": "record", "name": "Order", "fields": [{"name": "line", "type": "Line"}]}

    def stored(number: int, subject: str, schema: Any, uses: str | None) -> tuple[bytes, bytes]:
        value = {"subject": subject, "version": 1, "id": number, "schema": json.dumps(schema)}
        if uses:
            value["references"] = [{"name": uses, "subject": uses, "version": 1}]
        return b'{"keytype":"SCHEMA"}', json.dumps(value).encode()

    schemas = schemas_of_records([
        stored(1, "Line", line, None), stored(2, "Order", order, "Line"),
        stored(3, "A", order, "B"), stored(4, "B", order, "A"), stored(5, "C", order, "gone"),
    ])  # fmt: skip
    raw = pa.array([b"\0\0\0\0" + bytes([n]) + b"\x0a" for n in (2, 3, 5)], pa.large_binary())
    headers = pa.array(
        [[]] * 3, pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    )
    column = Column(
        "value", lambda _: {"value": raw, "headers": headers}, lambda: schemas, lambda: [raw]
    )
    found = decoder("registry", column).decode(raw, {})
    assert found.values.to_pylist() == [{"line": {"n": 5}}, None, None]
    assert ["circle" in p.found or "gone" in p.found for p in found.problems] == [True, True]
