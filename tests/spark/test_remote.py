"""Log directories in S3, served by moto on loopback: the same rows as from a folder."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.golden.cases import open_case
from tests.s3_server import s3_server
from tests.spark.tasks import Load, rows
from workbench.errors import LogDirectoryError
from workbench.loaders.remote import opened

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = open_case("4.2.0-txn", tmp_path_factory.mktemp("remote")).path / "data"
    for folder in data.iterdir():
        if folder.is_dir() and folder.name not in {"txn-a-0", "txn-a-1"}:  # a request takes 20 ms
            shutil.rmtree(folder)
    return data


@pytest.fixture(scope="module")
def bucket(logs: Path) -> Iterator[str]:
    """Yield the URI of the same directory in a bucket."""
    with s3_server() as server:
        server.put_folder("logs", "broker-1", logs)
        yield server.uri("logs/broker-1")


@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_tasks_read_from_s3_what_a_scan_reads_from_a_folder(
    bucket: str, logs: Path, level: Any
) -> None:
    table = Load(bucket, kafka__isolation__level=level, maxPartitionBytes=2000).table()
    expected = (
        wb.open_log_directory(logs).scan(isolation_level=level, include_internal=True).to_arrow()
    )
    assert rows(table, "key", "value") == rows(expected, "key", "value")
    assert table.num_rows


def test_times_and_single_partitions_are_found_in_s3(bucket: str, logs: Path) -> None:
    path, _, query = bucket.partition("?")
    options = {"startingTimestamp": 1700000001200, "assign": '{"txn-a":[0]}'}
    for place, local in ((path, logs), (f"{path}/txn-a-0", logs / "txn-a-0")):
        assert rows(Load(f"{place}?{query}", **options).table()) == rows(
            Load(local, **options).table()
        )


def test_a_place_in_s3_that_is_empty_is_no_log_directory(bucket: str) -> None:
    with pytest.raises(LogDirectoryError, match="there is no such file or directory"):
        Load(bucket.replace("broker-1", "broker-2"))


def test_spark_reads_from_s3(spark: Any, bucket: str, logs: Path) -> None:
    # Spark's workers may have begun before the server: they have no credentials of its.
    frame = spark.read.format("kafka-log").load(bucket.replace("s3://", "s3://any:any@"))
    expected = wb.open_log_directory(logs).scan().to_arrow()
    assert rows(frame.toArrow(), "key", "value") == rows(expected, "key", "value")


def test_credentials_are_no_part_of_a_path(bucket: str) -> None:
    path, _, query = bucket.partition("?")
    with_secret = path.replace("s3://", "s3://me:secret@")
    assert opened(f"{with_secret}?{query}")[0] == path
