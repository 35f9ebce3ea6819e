"""Tasks read remote segments and local ones as one log: what a scan reads."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import workbench as wb
from tests.golden.archive import extract
from tests.golden.cases import Case
from tests.spark.tasks import Load, rows

pytestmark = pytest.mark.spark

GOLDEN = Path(__file__).parents[1] / "golden"
TOPICS = "tier-local,tier-expire,tier-deleted,tier-txn"
LEVELS: Any = ("read_uncommitted", "read_committed")
COLUMNS = ("key", "value", "timestamp")


@pytest.fixture(scope="module")
def aiven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A broker's directory and its tier, which Aiven's plugin wrote, in part encrypted."""
    folder = tmp_path_factory.mktemp("aiven")
    extract(GOLDEN / "remote_tiers" / "4.2.0-aiven.tar.xz", folder)
    return folder


def scanned(logs: wb.LogDirectory, **options: Any) -> pa.Table:
    columns = ["topic", "partition", "offset", *COLUMNS]
    found = logs.scan(columns=columns, include_internal=True, **options).to_arrow()
    return found.cast(found.schema.set(5, pa.field("timestamp", pa.timestamp("us", tz="UTC"))))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", ["1k", "128m"])
def test_tasks_read_what_a_scan_reads(level: Any, size: str, golden: Callable[[str], Case]) -> None:
    case = golden("4.2.0-tiered")
    tier = case.path / "tier"
    logs = wb.open_log_directory(case.directory("data"), remote=tier)
    expected = rows(scanned(logs, topics=TOPICS.split(","), isolation_level=level), *COLUMNS)
    options = {"subscribe": TOPICS, "kafka__isolation__level": level, "maxPartitionBytes": size}
    load = Load(case.directory("data"), remote=tier, **options)
    assert rows(load.table(), *COLUMNS) == expected
    assert len(load.tasks) > 30 or size == "128m"
    assert len(expected) == {"read_uncommitted": 692, "read_committed": 612}[level]


def test_tasks_open_the_chunks_of_aivens_plugin_by_themselves(aiven: Path) -> None:
    keys = {"key1": str(aiven / "private.pem")}
    logs = wb.open_log_directory(aiven / "data", remote=aiven / "tier", remote_keys=keys)
    options = {"subscribe": "paid", "remote": aiven / "tier", "remoteKeys": json.dumps(keys)}
    for level in LEVELS:
        expected = rows(scanned(logs, topics="paid", isolation_level=level), *COLUMNS)
        given = {**options, "kafka__isolation__level": level, "maxPartitionBytes": "4k"}
        assert rows(Load(aiven / "data", **given).table(), *COLUMNS) == expected


def test_times_and_offsets_are_found_in_the_tier(golden: Callable[[str], Case]) -> None:
    case = golden("4.2.0-tiered")
    logs = wb.open_log_directory(case.directory("data"), remote=case.path / "tier")
    micros = scanned(logs, topics="tier-local")["timestamp"].cast("int64").to_pylist()
    stamps = [each // 1000 for each in micros]
    options = {"subscribe": "tier-local", "remote": case.path / "tier"}
    for offset in (0, 47, 48, 95, 96, 150):
        found = Load(case.directory("data"), **options, startingTimestamp=stamps[offset])
        first = rows(found.table())[0]["offset"]
        assert first == logs["tier-local-0"].offset_for_timestamp(stamps[offset])
        assert first == min(at for at, stamp in enumerate(stamps) if stamp >= stamps[offset])
    limits = {
        "startingOffsets": '{"tier-local":{"0":30}}',
        "endingOffsets": '{"tier-local":{"0":99}}',
    }
    found = Load(case.directory("data"), **options, **limits)
    assert [row["offset"] for row in rows(found.table())] == list(range(30, 99))


def test_spark_reads_an_encrypted_tier_with_its_keys(spark: Any, aiven: Path) -> None:
    keys = {"key1": str(aiven / "private.pem")}
    logs = wb.open_log_directory(aiven / "data", remote=aiven / "tier", remote_keys=keys)
    expected = scanned(logs, topics="paid", isolation_level="read_committed")

    def counted(batches: Any) -> Any:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"records": [batch.num_rows]})

    options = {
        "subscribe": "paid", "kafka.isolation.level": "read_committed", "remote": aiven / "tier",
        "remoteKeys": keys,
    }  # fmt: skip
    mapped = wb.spark.map_batches(spark, aiven / "data", counted, "records long", **options)
    assert sum(row.records for row in mapped.collect()) == len(expected)
    texts = {**options, "remoteKeys": json.dumps(keys)}
    frame = spark.read.format("kafka-log").options(**texts).load(str(aiven / "data"))
    found = frame.select("topic", "partition", "offset", "key", "value")
    assert rows(found.toArrow(), "key", "value") == rows(expected, "key", "value")


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"remoteKeys": "{}"}, "remoteKeys needs remote"),
        ({"remote": "tier", "remoteKeys": "key1"}, "remoteKeys is 'key1', expected such as"),
        ({"remote": "tier", "remoteKeys": '{"key1": 1}'}, "expected such as"),
    ],
)
def test_keys_without_meaning_are_refused(options: dict[str, str], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        Load("logs", **options)
