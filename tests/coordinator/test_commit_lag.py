"""The lag of each commit at its time, against a plain search over every batch."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import workbench
from tests.coordinator.writing import TIME, CoordinatorLog, commit
from tests.examples import examples
from tests.golden.cases import Case, names
from tests.naive import Record, batch
from workbench.coordinator.offsets.commit_lag import (
    ADVANCED,
    BY_CREATE_TIME,
    NO_TIME,
    NO_TIMESTAMPS,
    REMOVED,
    end_offsets,
)
from workbench.inspection.listing import list_log_directories
from workbench.inspection.partition import DiskPartition

LOG_APPEND = 0x08


def _segment(folder: Path, base: int, *times: int, step: int = 2, **fields: Any) -> int:
    """Write a segment with a batch of two records per time; return its next offset."""
    content, offset = b"", base
    for time in times:
        records = [Record(offset + at, time, None, b"v") for at in range(2)]
        content += batch(records, **fields)
        offset += step
    folder.mkdir(exist_ok=True)
    (folder / f"{base:020}.log").write_bytes(content)
    return offset


def _write_index(folder: Path, base: int, time: int) -> None:
    entry = time.to_bytes(8, "big") + (0).to_bytes(4, "big")
    (folder / f"{base:020}.timeindex").write_bytes(entry)


@pytest.fixture
def log(tmp_path: Path) -> CoordinatorLog:
    return CoordinatorLog(tmp_path)


def _lags(log: CoordinatorLog, **options: Any) -> list[tuple[int | None, int | None, str | None]]:
    rows = workbench.open_log_directory(log.write()).inspect.commits(**options).to_pylist()
    return [(row["log_end_offset"], row["lag"], row["lag_reason"]) for row in rows]


def _at(offset: int, time: int, partition: int = 0) -> Any:
    return commit("g", "foo", partition, offset, commitTimestamp=time)


def test_the_end_of_the_log_at_the_time_of_the_commit(log: CoordinatorLog) -> None:
    _segment(log.root / "foo-0", 0, TIME, TIME + 10, TIME + 20, attributes=LOG_APPEND)
    log.append(*(_at(1, TIME + shift) for shift in (-1, 0, 9, 10, 19, 20, 99)))
    ends = [0, 2, 2, 4, 4, 6, 6]
    assert _lags(log)[1:] == [(end, end - 1, None) for end in ends[1:]]
    assert _lags(log)[0] == (None, None, ADVANCED)
    assert _lags(log, lag=False) == [(None, None, None)] * 7


def test_what_the_lag_rests_on_is_told(log: CoordinatorLog) -> None:
    _segment(log.root / "foo-0", 0, TIME, TIME + 10)
    _segment(log.root / "foo-1", 100, TIME, TIME + 10)
    _segment(log.root / "foo-2", 0, TIME, TIME + 10, step=5)
    (log.root / "foo-3").mkdir()
    log.append(_at(1, TIME), _at(1, TIME - 1, 1), _at(100, TIME, 1), _at(1, TIME, 2))
    log.append(_at(0, TIME, 3), _at(0, TIME, 4), _at(9, TIME), commit("g", "foo", 0, None))
    found = _lags(log)
    assert found[:3] == [
        (2, 1, BY_CREATE_TIME),
        (None, None, "the records of that time are deleted"),
        (102, 2, BY_CREATE_TIME),
    ]
    assert found[3] == (None, None, f"{REMOVED}: the log ended between 2 and 5")
    assert found[4] == (0, 0, None)
    assert found[5] == (None, None, "the partition is not in these directories")
    assert found[6] == (None, None, "beyond the end: the log end offset is 4")
    assert found[7] == (None, None, "the record is a tombstone")


def test_a_log_that_cannot_be_read_is_unknown(log: CoordinatorLog) -> None:
    for number in range(2):
        _segment(log.root / f"foo-{number}", 0, TIME, attributes=LOG_APPEND)
    log.append(_at(1, TIME, 0), _at(1, TIME, 1))
    logs = workbench.open_log_directory(log.write())
    path = Path(logs["foo-0"].segments[0].path)
    path.unlink()
    path.mkdir()
    first, second = logs.inspect.commits().to_pylist()
    assert first["lag"] is None
    assert first["lag_reason"].startswith("the log cannot be read: ")
    assert second["lag"] == 1


def test_a_commit_without_a_time(log: CoordinatorLog) -> None:
    """The record's timestamp counts; without that nothing is known."""
    _segment(log.root / "foo-0", 0, TIME, TIME + 10)
    log.append(commit("g", "foo", 0, 1, commitTimestamp=-1), time=TIME + 5)
    log.append(commit("g", "foo", 0, 1, commitTimestamp=-1), time=-1)
    assert _lags(log) == [(2, 1, BY_CREATE_TIME), (None, None, NO_TIME)]


def test_records_without_timestamps(log: CoordinatorLog) -> None:
    _segment(log.root / "foo-0", 0, -1, -1)
    log.append(_at(1, TIME))
    assert _lags(log) == [(None, None, NO_TIMESTAMPS)]


def test_segments_that_end_before_the_commits_are_not_read(log: CoordinatorLog) -> None:
    """Their time index decides, not their batches."""
    folder = log.root / "foo-0"
    end = _segment(folder, 0, TIME, TIME + 10)
    _write_index(folder, 0, TIME + 10)
    _segment(folder, end, TIME + 20, TIME + 30)
    asked = np.array([TIME + 10, TIME + 20])

    def ends() -> list[int | None]:
        partition = list_log_directories(log.root).partitions["foo-0"]
        return [each.offset for each in end_offsets(partition, asked)]

    assert ends() == [4, 6]
    _segment(folder, 0, TIME + 50, TIME + 50)
    assert ends() == [4, 6]
    (folder / f"{0:020}.timeindex").unlink()
    assert ends() == [0, 0]


def _plainly(partition: DiskPartition, time: int) -> int:
    """Return the base offset of the first batch that is later, by looking at each."""
    for segment in partition.segments:
        for row in segment.batches.rows:
            if row["max_timestamp"] > time:
                return int(row["base_offset"])
    return partition.log_end_offset


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    segments=st.lists(
        st.lists(st.integers(TIME, TIME + 20), min_size=1, max_size=6), min_size=1, max_size=4
    ),
    times=st.lists(st.integers(TIME - 1, TIME + 21), min_size=1, max_size=8, unique=True),
    indexed=st.booleans(),
)
def test_as_a_plain_search_of_every_batch(
    segments: list[list[int]], times: list[int], tmp_path: Path, *, indexed: bool
) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path)) / "foo-0"
    offset = 0
    for stamps in segments:
        base, offset = offset, _segment(folder, offset, *stamps)
        if indexed:
            _write_index(folder, base, max(stamps))
    partition = list_log_directories(folder.parent).partitions["foo-0"]
    asked = np.array(sorted(times))
    found = [end.offset for end in end_offsets(partition, asked)]
    assert found == [_plainly(partition, time) for time in asked.tolist()]


@pytest.mark.parametrize("name", names("offsets"))
def test_logs_that_are_not_in_the_directories(name: str, golden: Callable[[str], Case]) -> None:
    """These cases have the coordinator's topic alone: of every era, no lag is known."""
    case = golden(name)
    rows = workbench.open_log_directory(case.directory("before")).inspect.commits().to_pylist()
    assert rows
    assert {(row["log_end_offset"], row["lag"]) for row in rows} == {(None, None)}
    assert {row["lag_reason"] for row in rows} == {
        "the partition is not in these directories",
        "the record is a tombstone",
    }


@pytest.mark.parametrize("name", [f"{v}-formats" for v in ("k0.10.2", "k0.11", "k1.1", "k2.3")])
def test_as_a_brokers_lookup_by_time(name: str, golden: Callable[[str], Case]) -> None:
    """Magic 0, 1 and 2: the log ended before the batch with the first record of a later time."""
    case = golden(name)
    logs = workbench.open_log_directory(case.directory(case.labels[0]))
    checked = 0
    for row in case.rows("bytime"):
        partition = logs[f"{row['topic']}-{row['partition']}"]
        (end,) = end_offsets(partition, np.array([row["target"] - 1]))
        answer = row.get("offset")
        if answer is None:
            assert end.offset in {None, partition.log_end_offset}
            continue
        last = np.concatenate(
            [segment.batches.rows["last_offset"] for segment in partition.segments]
        )
        before = last[last < answer]
        if end.offset is not None:
            assert end.offset == (before[-1] + 1 if len(before) else 0)
            checked += 1
    assert checked > 10


@pytest.mark.parametrize("name", ["2.8.2-groups", "3.9.1-groups", "4.2.0-groups"])
def test_the_lags_of_real_groups(name: str, golden: Callable[[str], Case]) -> None:
    """The producers' acknowledgements give the end of each log at the time of each commit."""
    case = golden(name)
    sent = [row for row in case.truth() if row.get("offset") is not None]
    rows = workbench.open_log_directory(case.directory("before")).inspect.commits().to_pylist()
    known = [row for row in rows if row["lag"] is not None]
    assert len(known) > 50
    for row in known:
        time = row["commit_time"].timestamp() * 1000
        where = (row["topic"], row["partition"])
        acknowledged = [
            each["offset"] + 1
            for each in sent
            if (each["topic"], each["partition"]) == where and each["timestamp"] <= time
        ]
        assert row["log_end_offset"] == max(acknowledged, default=0)
        assert row["lag"] == row["log_end_offset"] - row["offset"]
