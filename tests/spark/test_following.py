"""Tasks follow offsets: logs are cleaned, moved, truncated and deleted between plan and read."""

import shutil
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import workbench as wb
from tests.cleaner.cleaning import Cleanable
from tests.golden.cases import Case
from tests.spark.tasks import Load
from workbench.errors import CorruptDataWarning, LogDirectoryError
from workbench.spark_source.options import parse_options
from workbench.spark_source.plan.planning import DataLossWarning
from workbench.spark_source.streaming import KafkaLogStreamReader

pytestmark = pytest.mark.spark  # it imports pyspark, as the source does

KEYS = 37
SPLITS: list[dict[str, object]] = [
    {},
    {"maxPartitionBytes": 1},
    {"maxPartitionBytes": 2000},
    {"maxRecordsPerPartition": 7},
    {"minPartitions": 11},
]
LEVELS = ["read_uncommitted", "read_committed"]


class Dirty:
    """A log of seven segments that a cleaning merges into fewer; every key is written often.

    Attributes:
        log: the log.
        committed: the key of every record that is not aborted, by offset.
        aborted: offsets of the records that are.
    """

    def __init__(self, root: Path) -> None:
        self.log = Cleanable(root, "orders-0", index_interval_bytes=200, file_delete_delay_ms=0)
        self.committed: dict[int, int] = {}
        self.aborted: list[int] = []
        for number in range(6):
            self._fill(number)
            self.active = self.log.log.log_end_offset
            self.log.roll()
        self._fill(6)
        self.end = self.log.log.log_end_offset

    def _fill(self, number: int) -> None:
        for at in range(30):
            key = (number * 30 + at * 7) % KEYS
            offset = self.log.log.log_end_offset
            if at % 10 == 3:
                self.log.within(1, key)
                self.aborted.append(offset)
                self.log.abort(1)
            elif at % 10 == 6:
                self.log.within(2, key)
                self.committed[offset] = key
                self.log.commit(2)
            else:
                self.log.append(key, value=b"%060d" % at)
                self.committed[offset] = key

    @property
    def kept(self) -> set[int]:
        """The offsets that compaction keeps: of each key the newest below the active segment."""
        newest = {key: at for at, key in self.committed.items() if at < self.active}
        return {*newest.values(), *(at for at in self.committed if at >= self.active)}

    def clean(self) -> None:
        before = len(list(self.log.home.path.glob("*.log")))
        self.log.clean()
        self.log.home.clock.advance(1)  # the files that it replaced are deleted
        assert not list(self.log.home.path.glob("*.deleted"))
        assert len(list(self.log.home.path.glob("*.log"))) < before

    def wanted(self, level: str, offsets: set[int]) -> list[int]:
        """Return some offsets, and beside them what an isolation level lets through."""
        aborted = [at for at in self.aborted if level == "read_uncommitted" and at >= self.active]
        return sorted({*offsets, *aborted})


@pytest.fixture
def dirty(tmp_path: Path) -> Dirty:
    return Dirty(tmp_path)


def offsets(table: pa.Table) -> list[int]:
    return sorted(table.column("offset").to_pylist())


@pytest.fixture(params=["true", "false"])
def strictness(request: pytest.FixtureRequest) -> Iterator[str]:
    """Let no warning be given either: nothing is lost."""
    with warnings.catch_warnings(action="error", category=DataLossWarning):
        yield str(request.param)


@pytest.mark.parametrize("split", SPLITS[:2])
def test_an_old_batch_behind_newer_ones_ends_the_log_as_in_a_broker(
    golden: Callable[[str], Case], split: dict[str, object]
) -> None:
    """Offsets 52 to 55 come again behind 63: a broker's log ends at 56."""
    data = golden("2.8.2-damage-clean").directory("before")
    options = {"kafka.isolation.level": "read_committed", "onCorrupt": "skip", **split}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorruptDataWarning)
        table = Load(data, subscribe="dmg-tail-old-batch", **options).table()
    assert offsets(table) == list(range(56))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("split", SPLITS)
def test_a_cleaning_that_merges_segments_loses_nothing_that_it_keeps(
    dirty: Dirty, tmp_path: Path, split: dict[str, object], level: str, strictness: str
) -> None:
    options = {**split, "failOnDataLoss": strictness, "kafka.isolation.level": level}
    load = Load(tmp_path, **options)
    dirty.clean()
    assert offsets(load.table()) == dirty.wanted(level, dirty.kept)
    assert offsets(load.table()) == offsets(Load(tmp_path, **options).table())


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("split", SPLITS[1:])
def test_tasks_before_and_after_a_cleaning_give_no_offset_twice_and_none_that_stays_is_missing(
    dirty: Dirty, tmp_path: Path, split: dict[str, object], level: str, strictness: str
) -> None:
    load = Load(tmp_path, failOnDataLoss=strictness, **{**split, "kafka.isolation.level": level})
    assert len(load.tasks) > 2
    early = [offsets(load.read(task)) for task in load.tasks[::2]]
    dirty.clean()
    late = [offsets(load.read(task)) for task in load.tasks[1::2]]
    found = [at for each in [*early, *late] for at in each]
    assert len(found) == len(set(found))
    assert dirty.kept <= set(found)
    assert set(found) <= {*dirty.committed, *dirty.aborted}


def test_a_task_whose_file_is_replaced_while_it_is_opened_begins_again(
    dirty: Dirty, tmp_path: Path, strictness: str
) -> None:
    load = Load(tmp_path, failOnDataLoss=strictness, maxPartitionBytes=1)
    found: list[list[int]] = []

    def read() -> None:
        found.extend(offsets(load.read(task)) for task in load.tasks)

    reading = threading.Thread(target=read)
    reading.start()
    dirty.clean()
    reading.join()
    several = [at for each in found for at in each]
    assert len(several) == len(set(several))
    assert dirty.kept <= set(several)


@pytest.mark.parametrize("level", LEVELS)
def test_a_micro_batch_follows_its_offsets(
    dirty: Dirty, tmp_path: Path, level: str, strictness: str
) -> None:
    given = {
        "path": str(tmp_path),
        "startingOffsets": "earliest",
        "failOnDataLoss": strictness,
        "kafka.isolation.level": level,
        "maxPartitionBytes": "2000",
    }
    options = parse_options(given, streaming=True)
    reader = KafkaLogStreamReader(options, options.columns)
    start, end = reader.initialOffset(), reader.latestOffset()
    tasks = reader.partitions(start, end)
    dirty.clean()
    dirty.log.append_each(1, 2, 3)  # these are of the next one
    found = [
        at
        for task in tasks
        for batch in reader.read(task)
        for at in batch.column("offset").to_pylist()
    ]
    assert sorted(found) == dirty.wanted(level, dirty.kept)
    later = reader.latestOffset(end)
    more = [batch for task in reader.partitions(end, later) for batch in reader.read(task)]
    assert sum(batch.num_rows for batch in more) == 3


def test_a_batch_query_over_a_segment_that_was_rolled_and_cleaned_misses_nothing(
    dirty: Dirty, tmp_path: Path, strictness: str
) -> None:
    load = Load(tmp_path, failOnDataLoss=strictness)
    last = dict(dirty.committed)
    dirty.log.roll()
    dirty.log.append(0)
    dirty.clean()
    newest = {key: at for at, key in last.items()}
    assert set(newest.values()) <= set(offsets(load.table()))


def test_what_lies_below_the_start_of_the_log_is_lost(dirty: Dirty, tmp_path: Path) -> None:
    strict, loose = Load(tmp_path), Load(tmp_path, failOnDataLoss="false")
    everything = sorted({*dirty.committed, *dirty.aborted})
    start = sorted(int(each.stem) for each in dirty.log.home.path.glob("*.log"))[2]
    for file in dirty.log.home.path.iterdir():
        if file.stem.isdigit() and int(file.stem) < start:
            file.unlink()
    with pytest.raises(LogDirectoryError, match=f"the log starts at offset {start} now"):
        strict.table()
    with pytest.warns(DataLossWarning, match=f"the log starts at offset {start} now"):
        assert offsets(loose.table()) == [at for at in everything if at >= start]


def test_a_log_that_was_truncated_since_has_lost_its_end(dirty: Dirty, tmp_path: Path) -> None:
    strict, loose = Load(tmp_path), Load(tmp_path, failOnDataLoss="false")
    split = Load(tmp_path, maxRecordsPerPartition=7)
    dirty.log.log.truncate_to(dirty.active + 5)
    with pytest.raises(LogDirectoryError, match="it was truncated"):
        strict.table()
    with pytest.raises(LogDirectoryError, match=f"ends at offset {dirty.active + 5} now"):
        split.table()
    with pytest.warns(DataLossWarning, match="it was truncated"):
        assert max(offsets(loose.table())) < dirty.active + 5


def test_a_partition_that_was_moved_to_another_log_directory_is_found_there(
    dirty: Dirty, tmp_path: Path, strictness: str
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    shutil.copytree(dirty.log.home.path, one / "orders-0")
    load = Load(f"{one},{two}", maxPartitionBytes=2000, failOnDataLoss=strictness)
    (one / "orders-0").rename(two / "orders-0")
    assert offsets(load.table()) == sorted({*dirty.committed, *dirty.aborted})


def test_a_partition_that_was_deleted_since_is_lost(dirty: Dirty, tmp_path: Path) -> None:
    load, loose = Load(tmp_path), Load(tmp_path, failOnDataLoss="false")
    shutil.rmtree(dirty.log.home.path)
    with pytest.raises(LogDirectoryError, match="was deleted with its partition"):
        load.table()
    with pytest.warns(DataLossWarning, match="was deleted with its partition"):
        assert loose.table().num_rows == 0


def test_a_function_of_batches_and_the_tables_follow_offsets_too(
    spark: Any, dirty: Dirty, tmp_path: Path
) -> None:
    def offsets_of(batches: Any) -> Any:
        for batch in batches:
            yield batch.select(["offset"])

    frame = wb.spark.map_batches(
        spark, tmp_path, offsets_of, "offset bigint", maxPartitionBytes=2000
    )
    plain = spark.read.format("kafka-log").option("maxPartitionBytes", 2000).load(str(tmp_path))
    batches = spark.read.format("kafka-log-batches").load(str(tmp_path))
    for each in (frame, plain, batches):
        each.rdd.getNumPartitions()  # Spark plans once, at the first question
    dirty.clean()
    expected = dirty.wanted("read_uncommitted", dirty.kept)
    assert sorted(row.offset for row in frame.collect()) == expected
    assert sorted(row.offset for row in plain.select("offset").collect()) == expected
    held = [each for each in batches.collect() if not each.is_control]
    assert sum(each.record_count for each in held) == len(expected)
