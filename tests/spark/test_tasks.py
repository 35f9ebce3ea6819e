"""Tasks over logs that are damaged, or change between planning and reading; without Spark."""

import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import workbench as wb
from tests.field.cases import open_field_case
from tests.golden.cases import CASES, Case
from tests.naive import Record, batch
from tests.spark.simulated_bucket import PAGE, PREFIX, Bucket
from tests.spark.tasks import Load, rows
from workbench.errors import (
    CorruptDataWarning,
    CorruptRecordError,
    LogDirectoryError,
    OffsetOutOfRangeError,
)
from workbench.inspection.listing import list_log_directories
from workbench.inspection.partition import DiskPartition
from workbench.inspection.transactions import read_transactions
from workbench.loaders.scan.splits import size_of
from workbench.spark_source.options import parse_options
from workbench.spark_source.plan.planning import DataLossWarning, Plan
from workbench.spark_source.tasks import committed

pytestmark = pytest.mark.spark  # it imports pyspark, as the source does

COUNT = 300
SEGMENTS = 6


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    with wb.LogManager([folder]) as manager:
        log = manager.get_or_create_log("orders", 0)
        for first in range(0, COUNT, 5):
            if first and first % (COUNT // SEGMENTS) == 0:
                log.roll()
            log.append([(b"key-%d" % at, b"value-%d" % at) for at in range(first, first + 5)])
    return folder


@pytest.fixture
def logs(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "logs"))


def segments(logs: Path) -> list[Path]:
    return sorted((logs / "orders-0").glob("*.log"))


def spoil(segment: Path) -> None:
    """Change a byte of the second batch's records."""
    content = bytearray(segment.read_bytes())
    size = int.from_bytes(content[8:12]) + 12
    content[size + 70] ^= 1
    segment.write_bytes(content)


def offsets(table: pa.Table) -> list[int]:
    return sorted(table.column("offset").to_pylist())


def test_every_record_comes_once_whatever_the_tasks(logs: Path) -> None:
    for options in (
        {},
        {"maxPartitionBytes": 1},
        {"maxRecordsPerPartition": 7},
        {"minPartitions": 4},
    ):
        load = Load(logs, **options)
        assert offsets(load.table()) == list(range(COUNT))
    assert len(Load(logs, maxRecordsPerPartition=7).tasks) >= COUNT // 7
    assert len(Load(logs, maxPartitionBytes=1).tasks) >= SEGMENTS
    assert len(Load(logs).tasks) == 1


def test_a_task_that_is_tried_again_reads_the_same_though_the_log_has_grown(logs: Path) -> None:
    load = Load(logs)
    before = load.table()
    with wb.LogManager([logs]) as manager:
        manager.get_or_create_log("orders", 0).append([(b"late", b"one")] * 10)
    assert load.table() == before
    assert len(offsets(Load(logs).table())) == COUNT + 10


def test_a_segment_deleted_since_the_plan_ends_the_job_or_is_left_out(logs: Path) -> None:
    strict, loose = Load(logs), Load(logs, failOnDataLoss="false")
    segments(logs)[1].unlink()
    with pytest.raises(LogDirectoryError, match="was deleted since the job was planned"):
        strict.table()
    with pytest.warns(DataLossWarning, match="was deleted"):
        left = offsets(loose.table())
    each = COUNT // SEGMENTS
    assert left == [at for at in range(COUNT) if at // each != 1]


def test_a_segment_replaced_since_the_plan_is_read_again_for_the_offsets_wanted(logs: Path) -> None:
    options = {"maxRecordsPerPartition": 7}
    strict, loose = Load(logs, **options), Load(logs, failOnDataLoss="false", **options)
    first = segments(logs)[0]
    first.write_bytes(first.read_bytes()[int.from_bytes(first.read_bytes()[8:12]) + 12 :])
    for load in (strict, loose):  # as after a cleaning, which loses nothing
        assert offsets(load.table()) == list(range(5, COUNT))


def test_damage_ends_the_job_or_is_left_out_or_becomes_rows(logs: Path) -> None:
    spoil(segments(logs)[2])
    lost = range(105, 110)
    with pytest.raises(CorruptRecordError, match="CRC"):
        Load(logs).table()
    with pytest.warns(CorruptDataWarning, match="1 damaged batches"):
        skipped = Load(logs, onCorrupt="skip").table()
    assert offsets(skipped) == [at for at in range(COUNT) if at not in lost]
    told = Load(logs, onCorrupt="rows").table()
    (row,) = [row for row in rows(told, "key", "damage") if row["damage"] is not None]
    assert (row["topic"], row["partition"], row["key"]) == ("orders", 0, None)
    assert row["damage"]["kind"] == "crc"
    assert row["damage"]["path"] == str(segments(logs)[2])
    assert told.num_rows == COUNT - len(lost) + 1


def test_offsets_that_are_gone_end_the_job_or_are_left_out(logs: Path) -> None:
    for file in (logs / "orders-0").glob(f"{0:020d}.*"):
        file.unlink()
    beyond = {"startingOffsets": '{"orders":{"0":3}}', "endingOffsets": '{"orders":{"0":70}}'}
    with pytest.raises(OffsetOutOfRangeError, match=r"offset 3 .* holds \[50, 300\)"):
        Load(logs, **beyond)
    with pytest.warns(DataLossWarning):
        assert offsets(Load(logs, failOnDataLoss="false", **beyond).table()) == list(range(50, 70))
    past = {"endingOffsets": '{"orders":{"0":301}}'}
    with pytest.raises(OffsetOutOfRangeError, match="offset 301"):
        Load(logs, **past)
    with pytest.warns(DataLossWarning):
        assert len(offsets(Load(logs, failOnDataLoss="false", **past).table())) == 250


def test_a_start_past_the_end_is_said(logs: Path) -> None:
    """The log ends at 300: an end that is not named must not hide it."""
    beyond = {"startingOffsets": '{"orders":{"0":301}}'}
    with pytest.raises(OffsetOutOfRangeError, match="301"):
        Load(logs, **beyond)
    with pytest.warns(DataLossWarning, match="301"):
        assert Load(logs, failOnDataLoss=False, **beyond).table().num_rows == 0
    assert Load(logs, startingOffsets='{"orders":{"0":300}}').table().num_rows == 0


def test_columns_come_as_asked_and_nothing_else(logs: Path) -> None:
    table = Load(logs, columns="offset,VALUE").table()
    assert table.schema.names == ["offset", "value"]
    names = Load(logs, includeMetadata="true", includeHeaders="true").table().schema.names
    assert names[7:] == [
        "headers", "producerId", "producerEpoch", "sequence", "leaderEpoch", "codec",
        "isTransactional", "isControl", "segment", "batchPosition",
    ]  # fmt: skip


def test_metadata_tells_where_a_record_lies(logs: Path) -> None:
    found = rows(Load(logs, includeMetadata="true").table(), "segment", "batchPosition", "codec")
    assert {row["segment"] for row in found} == set(range(0, COUNT, COUNT // SEGMENTS))
    assert [row["batchPosition"] for row in found[:5]] == [0] * 5
    assert {row["codec"] for row in found} == {"none"}


def test_batches_have_no_more_rows_than_was_asked_for(logs: Path) -> None:
    load = Load(logs, batchRows=3)
    assert {batch.num_rows for batch in load.read(load.tasks[0]).to_batches()} <= {1, 2, 3}


def test_a_partition_in_two_of_the_paths_is_refused(made: Path, logs: Path) -> None:
    with pytest.raises(ValueError, match=r"orders-0 is twice in the directories of one broker"):
        Load(f"{made},{logs}")


@pytest.mark.parametrize("name", [case.name for case in CASES[::6]])
def test_small_tasks_give_the_rows_of_a_scan(golden: Callable[[str], Case], name: str) -> None:
    case = golden(name)
    data = case.directory(case.labels[-1])
    for level in ("read_uncommitted", "read_committed"):
        with warnings.catch_warnings(action="ignore", category=CorruptDataWarning):
            options = {"kafka.isolation.level": level, "onCorrupt": "skip"}
            found = Load(data, maxPartitionBytes="2k", **options).table()
            logs = wb.open_log_directory(data)
            expected = logs.scan(isolation_level=level, include_internal=True).to_arrow()
        assert rows(found, "key", "value") == rows(expected, "key", "value")


@pytest.mark.parametrize("name", ["4.2.0-txn", "2.8.2-txn", "4.2.0-compact-txn"])
@pytest.mark.parametrize("size", ["1", "1g"])
def test_tasks_find_the_markers_that_decide_their_own_batches(
    golden: Callable[[str], Case], name: str, size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committed, "SMALL_LOG", 0)  # as in a log of gigabytes
    case = golden(name)
    for label in case.labels:
        data = case.directory(label)
        found = Load(data, kafka__isolation__level="read_committed", maxPartitionBytes=size)
        logs = wb.open_log_directory(data)
        scan = logs.scan(isolation_level="read_committed", include_internal=True)
        expected = scan.to_arrow()
        assert rows(found.table(), "key", "value") == rows(expected, "key", "value")
        for partition in logs.listing.partitions.values():
            stable = read_transactions(partition).last_stable_offset
            assert committed.stable_end(partition) == stable


@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_a_job_over_a_bucket_is_planned_by_its_listing_alone(level: str) -> None:
    bucket = Bucket(partitions=10, segments=250, size=400 << 20)
    options = parse_options({"path": PREFIX, "kafka.isolation.level": level})
    tasks = Plan(options, fs=bucket.fs).batch_tasks()
    assert bucket.file_count == 10_000
    assert bucket.asked["open"] == 0
    assert bucket.asked.total() <= bucket.file_count / PAGE + 4
    assert len(tasks) == 10 * 250 * 4
    assert sum(size_of(read) for task in tasks for read in task) == 2500 * (400 << 20)


def test_offsets_choose_segments_by_their_names() -> None:
    bucket = Bucket(partitions=1, segments=100, size=1 << 20)
    options = {"startingOffsets": '{"events":{"0":97500000}}', "minPartitions": "8"}
    tasks = Plan(parse_options({"path": PREFIX, **options}), fs=bucket.fs).batch_tasks()
    assert {read.segment.base_offset for task in tasks for read in task} == {
        97_000_000, 98_000_000, 99_000_000
    }  # fmt: skip
    assert len(tasks) >= 8
    assert bucket.asked["open"] == 0


@pytest.mark.parametrize(
    ("segments", "size", "wanted"),
    [
        (2000, 432, {None: 63, 4: 63, 64: 65, 100: 100, 500: 500}),
        (1, 1 << 20, {None: 1, 8: 8, 64: 64}),
        (2, 256 << 20, {None: 4, 4: 4, 8: 8, 64: 64}),
    ],
)
def test_about_as_many_tasks_as_asked_for(
    segments: int, size: int, wanted: dict[int | None, int]
) -> None:
    bucket = Bucket(partitions=1, segments=segments, size=size)
    for least, count in wanted.items():
        options = {} if least is None else {"minPartitions": str(least)}
        plan = Plan(parse_options({"path": PREFIX, **options}), fs=bucket.fs)
        assert len(plan.batch_tasks()) == count


def test_times_beyond_64_bits_of_microseconds_are_null(tmp_path: Path) -> None:
    times = [-(2**63), -(2**63) + 1, -1, 2**63 - 1, 7]
    folder = tmp_path / "t-0"
    folder.mkdir()
    records = [Record(at, time, None, b"v") for at, time in enumerate(times)]
    (folder / f"{0:020d}.log").write_bytes(b"".join(batch([each]) for each in records))
    found = Load(tmp_path).table().sort_by("offset")["timestamp"].cast(pa.int64())
    assert found.to_pylist() == [None, None, None, None, 7000]


def _by_all_records(partition: DiskPartition, time: int) -> int | None:
    """Return the first offset at or after a time, of the first segment that reaches it."""
    for segment in partition.segments:
        largest = int(segment.batches.column("max_timestamp").max(initial=-1))
        if (segment.modified_ms if largest < 0 else largest) >= time:
            for chunk in segment.read(options=0):
                late = chunk.columns.timestamps >= time
                late &= chunk.columns.offsets >= partition.log_start_offset
                if late.any():
                    return int(chunk.columns.offsets[late][0])
            return None
    return None


@pytest.mark.parametrize("name", ["k2.3-damage", "k0.10.2-damage", "4.2.0-plain-timestamps"])
def test_a_time_is_found_by_time_indexes_as_by_all_records(
    golden: Callable[[str], Case], name: str
) -> None:
    case = golden(name)
    directory = list_log_directories(case.directory(case.labels[-1]))
    for partition in directory.partitions.values():
        stamps = {int(t) for s in partition.segments for t in s.batches.column("max_timestamp")}
        for time in sorted(stamps)[:: max(1, len(stamps) // 5)]:
            for each in (time, time + 1):
                found = partition.offset_for_timestamp(each)
                assert found == _by_all_records(partition, each), (partition.name, each)


def test_a_partition_alone_has_the_log_start_offset_of_its_directory(tmp_path: Path) -> None:
    case = open_field_case("how-many-messages", tmp_path)
    whole = Load(case.data, subscribe="events").table()
    alone = Load(case.data / "events-0").table()
    assert alone.num_rows == 27
    assert alone.column("offset").to_pylist() == whole.column("offset").to_pylist()


def test_an_empty_directory_has_one_task_that_reads_nothing(tmp_path: Path) -> None:
    load = Load(tmp_path)
    assert len(load.tasks) == 1
    assert load.table().num_rows == 0


def make_unread(logs: Path) -> list[str]:
    """Replace the second segment's `.log` with a FIFO, the fourth's with a dangling link."""
    chosen = segments(logs)[1::2][:2]
    for path in chosen:
        path.unlink()
    os.mkfifo(chosen[0])
    chosen[1].symlink_to("nowhere")
    return [str(path) for path in chosen]


def test_a_log_that_is_not_a_readable_file_ends_the_job_unless_damage_is_left_out(
    logs: Path,
) -> None:
    unread = make_unread(logs)
    with pytest.raises(CorruptRecordError, match=r"FIFO.*onCorrupt=skip leaves it out") as caught:
        Load(logs)
    assert caught.value.path == unread[0]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        kept = offsets(Load(logs, onCorrupt="skip").table())
    assert kept == [at for at in range(COUNT) if at // 50 not in {1, 3}]
    assert [path for path in unread for each in told if path in str(each.message)] == unread
    table = Load(logs, onCorrupt="rows").table()
    damage = [row["damage"] for row in table.to_pylist() if row["damage"] is not None]
    assert [each["path"] for each in damage] == unread
    assert len(table) == len(kept) + 2


@pytest.mark.parametrize("on_corrupt", ["fail", "skip", "rows"])
def test_a_log_that_cannot_be_opened_when_its_task_runs_is_damage(
    logs: Path, on_corrupt: str
) -> None:
    load = Load(logs, onCorrupt=on_corrupt)
    second = segments(logs)[1]
    second.unlink()
    os.mkfifo(second)
    if on_corrupt == "fail":
        with pytest.raises(CorruptRecordError, match=f"{second}.*FIFO"):
            load.table()
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = load.table()
    found = [row for row in table.to_pylist() if row.get("damage") is None]
    assert [row["offset"] for row in found] == [at for at in range(COUNT) if at // 50 != 1]
    assert len(table) == len(found) + (on_corrupt == "rows")


@pytest.mark.parametrize("options", [{}, {"maxPartitionBytes": 1}, {"maxRecordsPerPartition": 7}])
def test_planning_leaves_a_log_that_cannot_be_opened_to_its_task(
    logs: Path, options: dict[str, int]
) -> None:
    given = {"path": str(logs), "onCorrupt": "skip", "endingTimestamp": str(2**62)}
    given |= {name: str(value) for name, value in options.items()}
    plan = Plan(parse_options(given))
    assert len(plan.partitions[0].segments) == SEGMENTS  # listed while it is a file
    last = segments(logs)[-1]
    last.unlink()
    os.mkfifo(last)
    with pytest.warns(CorruptDataWarning, match=f"{last.name}.*FIFO"):
        tasks = plan.tasks({"orders-0": 0}, {"orders-0": plan.ends.end("orders-0")})
    assert sum(len(task) for task in tasks) >= SEGMENTS - 1


def test_damage_in_a_folder_whose_name_is_not_utf8_is_a_row(logs: Path, tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/od\xff"))
    logs.rename(odd)
    spoil(segments(odd)[2])
    (row,) = [
        row for row in Load(odd, onCorrupt="rows").table().to_pylist() if row["damage"] is not None
    ]
    assert row["damage"]["path"].startswith(f"{tmp_path}/od")
    assert row["damage"]["path"].endswith(segments(odd)[2].name)
