"""Decoded and masked keys and values in Spark: the same as in a scan."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import workbench as wb
from tests.naive import Record, batch
from tests.values.avro_values import written
from workbench.errors import CorruptDataWarning
from workbench.spark_source.kinds import spark_kind
from workbench.values.types import converted

pytestmark = pytest.mark.spark

REGISTRY = Path(__file__).parents[2] / "sample_data" / "registry-4.3.1"

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "email", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "map", "values": {"type": "array", "items": "int"}}},
    ],
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Orders, and their schema in the topic of a registry."""
    root = tmp_path_factory.mktemp("spark_values")
    key = b'{"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}'
    schema = {"subject": "orders-value", "version": 1, "id": 4, "schema": json.dumps(ORDER)}
    value = {"id": 1, "email": "ada@example.org", "at": 1_700_000_000_123, "tags": {"a": [1, 2]}}
    orders = [b"\0\0\0\0\x04" + written(ORDER, {**value, "id": n}) for n in range(3)] + [b"bad"]
    records = {
        "_schemas": [Record(0, 1, key, json.dumps(schema).encode())],
        "orders": [Record(at, 1, b"k%d" % at, each) for at, each in enumerate(orders)],
    }
    for topic, each in records.items():
        (root / f"{topic}-0").mkdir()
        (root / f"{topic}-0" / f"{0:020}.log").write_bytes(batch(each))
    return root


def test_avro_and_masks_in_spark_are_those_of_a_scan(spark: Any, logs: Path) -> None:
    decode, mask = {"key": "utf8", "value": "avro"}, "orders value.email hash; orders key first 1"
    frame = (
        spark.read.format("kafka-log")
        .option("subscribe", "orders")
        .option("decode", json.dumps(decode))
        .option("mask", mask)
        .option("maskSecret", "k")
        .load(str(logs))
    )
    assert frame.schema["value"].dataType.simpleString() == (
        "struct<id:bigint,email:string,at:timestamp,tags:map<string,array<int>>>"
    )
    found = [row.asDict(recursive=True) for row in frame.orderBy("offset").collect()]
    from workbench.values.masking import Masks

    masks = Masks.of(mask.split("; "), b"k")
    scan = wb.open_log_directory(logs).scan(topics="orders", decode=decode, mask=masks)
    with pytest.warns(wb.CorruptDataWarning):
        expected = scan.to_arrow()
    assert [row["key"] for row in found] == expected["key"].to_pylist() == ["k"] * 4
    values = expected["value"].to_pylist()
    assert [row["value"] and row["value"]["email"] for row in found] == [
        value and value["email"] for value in values
    ]
    assert [row["value"] and row["value"]["tags"] for row in found] == [{"a": [1, 2]}] * 3 + [None]
    assert frame.where("value.id = 2").count() == 1


@pytest.mark.parametrize(
    ("decode", "problem"),
    [
        ("[1]", "not a JSON object"),
        ('{"headers": "utf8"}', "decode names headers"),
        ('{"value": "avra"}', "unknown decoding"),
    ],
)
def test_a_decoding_without_meaning_is_refused(
    spark: Any, logs: Path, decode: str, problem: str
) -> None:
    with pytest.raises(Exception, match=problem):
        spark.read.format("kafka-log").option("decode", decode).load(str(logs)).count()


def test_every_type_has_one_in_spark() -> None:
    array = pa.array(
        [
            {
                "time": 5, "span": 6, "big": 2**64 - 1, "wide": 10, "ns": 1_500, "local": 2**62,
                "none": None, "map": [("a", {"x": b"123"})], "list": [[1.5]], "void": {},
            }
        ],
        pa.struct(
            [
                ("time", pa.time32("ms")), ("span", pa.duration("ns")), ("big", pa.uint64()),
                ("wide", pa.decimal256(60, 2)), ("ns", pa.timestamp("ns", "UTC")),
                ("local", pa.timestamp("ms")), ("none", pa.null()),
                ("map", pa.map_(pa.large_string(), pa.struct([("x", pa.binary(3))]))),
                ("list", pa.list_(pa.list_(pa.float32()))), ("void", pa.struct([])),
            ]
        ),
    )  # fmt: skip
    kind = spark_kind(array.type)
    (found,) = converted(array, kind).to_pylist()
    assert found.pop("ns").microsecond == 1
    assert found == {
        "time": 5, "span": 6, "big": 2**64 - 1, "wide": "10.00", "local": None, "none": None,
        "map": [("a", {"x": b"123"})], "list": [[1.5]], "void": "{}",
    }  # fmt: skip


@pytest.mark.parametrize(("topic", "how"), [("orders", "avro"), ("payments", "protobuf")])
def test_values_that_serializers_wrote_to_a_broker_are_columns(
    spark: Any, topic: str, how: str
) -> None:
    options = {"subscribe": topic, "decode": json.dumps({"value": how}), "onCorrupt": "skip"}
    frame = spark.read.format("kafka-log").options(**options).load(str(REGISTRY))
    names = frame.schema["value"].dataType.fieldNames()
    rows = [row["value"] for row in frame.orderBy("offset").collect()]
    with pytest.warns(CorruptDataWarning):
        wanted = (
            wb.open_log_directory(REGISTRY).scan(topics=topic, decode={"value": how}).to_arrow()
        )
    values = wanted["value"].to_pylist()
    assert names == wanted.schema.field("value").type.names
    assert [row is None for row in rows] == [value is None for value in values]
    assert [row["id"] for row in rows if row] == [value["id"] for value in values if value]
