"""What reading gives can be sent to another process, where it reads the same."""

import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.golden.cases import Case
from workbench.inspection.bytes.fields import explain_batch
from workbench.inspection.lookups.record_window import RecordWindow
from workbench.inspection.segment import Segment
from workbench.inspection.transactions import read_transactions
from workbench.log_directory import LogDirectory

Golden = Callable[[str], Case]


def again(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))  # noqa: S301


@pytest.fixture
def logs(golden: Golden) -> LogDirectory:
    return workbench.open_log_directory(golden("4.2.0-txn").directory("data"))


def count_batches(segment: Segment) -> int:
    return len(segment.batches)


def count_records(logs: LogDirectory) -> int:
    return logs.scan().count()


def test_everything_that_is_opened_comes_back(logs: LogDirectory) -> None:
    partition = logs["txn-a-0"]
    segment = partition.segments[0]
    assert again(logs).scan().count() == logs.scan().count()
    assert list(again(logs)) == list(logs)
    assert again(partition).segments[0].path == segment.path
    assert again(segment).batches.rows.tolist() == segment.batches.rows.tolist()
    assert again(segment.batches)[0] == segment.batches[0]
    assert again(partition.files) == partition.files
    assert again(logs.roots[0]).path == logs.roots[0].path
    assert again(RecordWindow(segment)).read(0, 5) == RecordWindow(segment).read(0, 5)
    assert again(explain_batch(segment, 0)) == explain_batch(segment, 0)
    assert again(read_transactions(partition)).last_stable_offset > 0
    assert [again(finding) for finding in logs.verify()] == logs.verify()


def test_indexes_snapshots_and_epochs_come_back(logs: LogDirectory) -> None:
    partition = logs["txn-a-0"]
    for segment in partition.segments:
        for index in (segment.offset_index, segment.time_index, segment.transaction_index):
            if index is not None:
                assert again(index).encode() == index.encode()
    for entry in partition.snapshots:
        assert again(partition.producer_snapshot(entry)) == partition.producer_snapshot(entry)
    assert again(partition.leader_epochs) == partition.leader_epochs
    assert again(partition.metadata) == partition.metadata


def test_a_scan_comes_back_with_its_options(logs: LogDirectory) -> None:
    scan = logs.scan(
        topics="txn-a", isolation_level="read_committed", columns=["offset", "key"], limit=7
    )
    assert again(scan).to_arrow().equals(scan.to_arrow())
    assert again(scan.plan())[0].segment.path == scan.plan()[0].segment.path


def test_what_was_read_is_not_taken_along(logs: LogDirectory) -> None:
    fresh = len(pickle.dumps(logs))
    logs.scan().to_arrow()
    logs.inspect.batches()
    assert len(pickle.dumps(logs)) == fresh


def test_another_process_reads_the_same(logs: LogDirectory, golden: Golden) -> None:
    segments = [segment for partition in logs.values() for segment in partition.segments]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(count_batches, segments)) == [len(s.batches) for s in segments]
        assert pool.submit(count_records, logs).result() == logs.scan().count()
    assert Path(golden("4.2.0-txn").path).exists()
