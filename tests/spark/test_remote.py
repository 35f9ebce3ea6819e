"""Log directories in S3, served by moto on loopback: the same rows as from a folder."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from moto.server import ThreadedMotoServer
from pyarrow.fs import FileType, LocalFileSystem, S3FileSystem, copy_files

import workbench as wb
from tests.golden.cases import open_case
from tests.spark.tasks import Load, rows
from workbench.errors import LogDirectoryError
from workbench.loaders.remote import mounted

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
    given = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": "us-east-1"}
    patch = pytest.MonkeyPatch()
    for name, value in given.items():
        patch.setenv(name, value)
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    s3 = S3FileSystem(endpoint_override=f"{host}:{port}", scheme="http", allow_bucket_creation=True)
    s3.create_dir("logs")
    copy_files(
        str(logs), "logs/broker-1", source_filesystem=LocalFileSystem(), destination_filesystem=s3
    )
    assert s3.get_file_info("logs/broker-1/txn-a-0").type == FileType.Directory
    yield f"s3://logs/broker-1?scheme=http&endpoint_override={quote(f'{host}:{port}', safe='')}"
    server.stop()
    patch.undo()


@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_tasks_read_from_s3_what_a_scan_reads_from_a_folder(
    bucket: str, logs: Path, level: Any
) -> None:
    table = Load(bucket, kafka__isolation__level=level, maxPartitionBytes=2000).table()
    expected = wb.open_log_directory(logs).scan(isolation_level=level).to_arrow()
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
    frame = spark.read.format("kafka-log").load(bucket)
    expected = wb.open_log_directory(logs).scan().to_arrow()
    assert rows(frame.toArrow(), "key", "value") == rows(expected, "key", "value")


def test_credentials_are_no_part_of_a_path(bucket: str) -> None:
    path, _, query = bucket.partition("?")
    with_secret = path.replace("s3://", "s3://me:secret@")
    assert mounted(f"{with_secret}?{query}") == path
