"""Fates of transactional batches, by the markers of their producers."""

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.naive import Record, batch, marker
from workbench.inspection.transactions import (
    FATE_NAMES,
    aborted_transactions,
    read_transactions,
)
from workbench.log_directory import LogDirectory

TRANSACTIONAL = 0x10


def data(offset: int, producer: int | None, count: int = 1, **fields: Any) -> bytes:
    records = [Record(offset + at, 5, b"k", b"v") for at in range(count)]
    if producer is None:
        return batch(records)
    return batch(
        records, attributes=TRANSACTIONAL, producer_id=producer, producer_epoch=0, **fields
    )


def opened(folder: Path, *segments: tuple[int, bytes]) -> LogDirectory:
    partition = folder / "t-0"
    partition.mkdir(exist_ok=True)
    for path in partition.iterdir():
        path.unlink()
    for base, content in segments:
        (partition / f"{base:020}.log").write_bytes(content)
    return workbench.open_log_directory(folder)


def fates(logs: LogDirectory) -> list[str]:
    partition = logs["t-0"]
    transactions = read_transactions(partition)
    return [
        FATE_NAMES[fate]
        for segment in partition.segments
        for fate in transactions.fates(segment.batches.rows)
    ]


def offsets(logs: LogDirectory) -> list[int]:
    table = logs.scan(isolation_level="read_committed").to_arrow()
    return [int(offset) for offset in table["offset"].to_pylist()]


def test_a_batch_belongs_to_its_producer_s_next_marker(tmp_path: Path) -> None:
    """LS-15: two producers in turn, over two segments; a third that writes without transactions."""
    logs = opened(
        tmp_path,
        (100, data(100, 1, 2) + data(102, 2, 2) + data(104, None)),
        (105, marker(105, 2, commit=False) + data(106, 2) + marker(107, 1, commit=True)),
    )
    assert fates(logs) == [
        "committed", "aborted", "not transactional", "not transactional", "open",
        "not transactional",
    ]  # fmt: skip
    partition = logs["t-0"]
    transactions = read_transactions(partition)
    assert transactions.last_stable_offset == 106
    assert aborted_transactions(partition.segments, transactions) == [(2, 102, 105)]
    assert offsets(logs) == [100, 101, 104]


def test_the_oldest_open_transaction_holds_everything_behind_it_back(tmp_path: Path) -> None:
    logs = opened(tmp_path, (0, data(0, None) + data(1, 7) + data(2, None) + data(3, 8, 2)))
    assert read_transactions(logs["t-0"]).last_stable_offset == 1
    assert offsets(logs) == [0]
    assert logs.scan().count() == 5


def test_markers_without_data_end_nothing(tmp_path: Path) -> None:
    logs = opened(
        tmp_path, (0, marker(0, 4, commit=False) + marker(1, 4, commit=True) + data(2, None))
    )
    assert read_transactions(logs["t-0"]).last_stable_offset == 3
    assert offsets(logs) == [2]


@pytest.mark.parametrize("damage", ["key", "crc"])
def test_an_unreadable_marker_leaves_its_transaction_open(damage: str, tmp_path: Path) -> None:
    """What a broker does after a recovery that cut a marker off; the next one counts."""
    if damage == "key":
        bad = batch([Record(1, 5, b"\0", b"")], attributes=0x30, producer_id=4, producer_epoch=0)
    else:
        bad = marker(1, 4, commit=True)[:-1] + b"!"
    logs = opened(tmp_path, (0, data(0, 4) + bad + data(2, None)))
    assert read_transactions(logs["t-0"]).last_stable_offset == 0
    assert offsets(logs) == []


steps = st.lists(
    st.tuples(st.sampled_from(["data", "plain", "commit", "abort"]), st.integers(1, 3)),
    max_size=25,
)


@given(script=steps, cut=st.integers(0, 25))
def test_read_committed_is_what_a_list_of_records_gives(
    script: list[tuple[str, int]], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Against the plainest account: records wait for their producer's next marker."""
    first, second = b"", b""
    waiting: dict[int, list[int]] = {}
    committed: list[int] = []
    for offset, (what, producer) in enumerate(script):
        if what in {"commit", "abort"}:
            entry = marker(offset, producer, commit=what == "commit")
            ended = waiting.pop(producer, [])
            committed += ended if what == "commit" else []
        elif what == "plain":
            entry = data(offset, None)
            committed.append(offset)
        else:
            entry = data(offset, producer)
            waiting.setdefault(producer, []).append(offset)
        if offset < cut:
            first += entry
        else:
            second += entry
    stable = min((found[0] for found in waiting.values()), default=len(script))
    folder = tmp_path_factory.getbasetemp() / "scripts"
    folder.mkdir(exist_ok=True)
    split = min(cut, len(script))
    logs = opened(folder, (0, first), *([(split, second)] if second and split else []))
    if split == 0:
        logs = opened(folder, (0, second))
    assert read_transactions(logs["t-0"]).last_stable_offset == stable
    assert offsets(logs) == sorted(offset for offset in committed if offset < stable)


@given(script=steps, order=st.randoms(use_true_random=False))
def test_markers_in_any_order_decide_by_their_offsets(
    script: list[tuple[str, int]], order: random.Random, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A damaged log: only what is kept of the markers depends on their order, not the fates."""
    entries = list(enumerate(script))
    order.shuffle(entries)
    log = b""
    for offset, (what, producer) in entries:
        if what in {"commit", "abort"}:
            log += marker(offset, producer, commit=what == "commit")
        else:
            log += data(offset, None if what == "plain" else producer)
    wanted, starts = [], dict[tuple[int, int], int]()
    for offset, (what, producer) in entries:
        ends = (at for at in range(offset, len(script)) if script[at] in _ends(producer))
        end = next(ends, None)
        if what != "data":
            wanted.append("not transactional")
            continue
        if end is None:
            wanted.append("open")
        elif script[end][0] == "commit":
            wanted.append("committed")
        else:
            wanted.append("aborted")
            starts[end, producer] = min(offset, starts.get((end, producer), offset))
    folder = tmp_path_factory.getbasetemp() / "orders"
    folder.mkdir(exist_ok=True)
    logs = opened(folder, (0, log))
    assert fates(logs) == wanted
    partition = logs["t-0"]
    found = aborted_transactions(partition.segments, read_transactions(partition))
    assert found == [(who, first, end) for (end, who), first in sorted(starts.items())]


def _ends(producer: int) -> set[tuple[str, int]]:
    return {("commit", producer), ("abort", producer)}
