"""Any two logs: the answers against a comparison of plain lists, record by record."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.comparison.replicas import ORDERS
from tests.corrupt import edit
from workbench.comparison.records import Effort, differences
from workbench.comparison.results import PartitionComparison
from workbench.files import names
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.leader_epochs import EpochEntry, LeaderEpochs
from workbench.record.memory_records import MemoryRecords

NOW: Final = 1_700_000_000_000
CODECS: Final = ("none", "none", "gzip", "zstd")


class Record(NamedTuple):
    epoch: int
    text: str


Plan = dict[int, Record]  # the records of a log by their offsets


class Layout(NamedTuple):
    """How a log's records lie on disk: sizes of batches, and after how many a segment ends."""

    batches: list[int]
    segment: int
    codec: str


layouts = st.builds(
    Layout, st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 4),
    st.sampled_from(CODECS),
)  # fmt: skip


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Record], list[Record]]:
    """Return two logs with one beginning; epochs never fall."""
    epoch, logs = 0, [[], []]  # type: tuple[int, list[list[Record]]]
    for step in draw(st.lists(st.integers(0, 1), max_size=12)):
        epoch += step
        for log in logs:
            log.append(Record(epoch, "same"))
    cut = draw(st.integers(0, len(logs[0])))
    logs[0] = logs[0][:cut]
    for side in draw(st.lists(st.integers(0, 1), max_size=8)):
        epoch += draw(st.integers(0, 1))
        logs[side].append(Record(epoch, draw(st.sampled_from(["left", "same"]))))
    return logs[0], logs[1]


def write(folder: Path, plan: Plan, layout: Layout, *, end: int, start: int) -> Path:
    """Write a log directory: batches of one epoch, some of them one segment."""
    log = folder / "orders-0"
    log.mkdir(parents=True)
    sizes = Random(1)
    batches: list[tuple[int, bytes]] = []
    offsets = sorted(plan)
    at = 0
    while at < len(offsets):
        size = sizes.choice(layout.batches)
        taken = [offsets[at]]
        while len(taken) < size and at + len(taken) < len(offsets):
            following = offsets[at + len(taken)]
            if plan[following].epoch != plan[taken[0]].epoch or following != taken[-1] + 1:
                break
            taken.append(following)
        records = MemoryRecords.of(
            *((NOW, b"k%d" % each, plan[each].text.encode()) for each in taken),
            base_offset=taken[0], partition_leader_epoch=plan[taken[0]].epoch, codec=layout.codec,
        )  # fmt: skip
        batches.append((taken[0], bytes(records)))
        at += len(taken)
    for first in range(0, len(batches), layout.segment):
        some = batches[first : first + layout.segment]
        base = some[0][0] if first else 0
        (log / f"{base:020}.log").write_bytes(b"".join(data for _, data in some))
    (log / f"{0:020}.log").touch()
    if not offsets or offsets[-1] + 1 < end:  # the log end offset, if the last records are dropped
        (log / f"{end:020}.log").touch()
    entries = [
        EpochEntry(plan[offset].epoch, offset)
        for place, offset in enumerate(offsets)
        if not place or plan[offsets[place - 1]].epoch != plan[offset].epoch
    ]
    (log / names.LEADER_EPOCHS).write_bytes(LeaderEpochs(tuple(entries)).encode())
    checkpoints = {names.LOG_START_OFFSETS: start, names.HIGH_WATERMARKS: end}
    for name, offset in checkpoints.items():
        (folder / name).write_bytes(OffsetCheckpoint({ORDERS: offset}).encode())
    (folder / names.CLEAN_SHUTDOWN).touch()
    return folder


@contextmanager
def a_folder(within: Path) -> Iterator[Path]:
    """Make a folder for one example."""
    folder = Path(tempfile.mkdtemp(dir=within))
    yield folder
    shutil.rmtree(folder)


def compared(brokers: Mapping[str, Path]) -> PartitionComparison:
    return wb.compare_replicas(brokers)["orders-0"]


@given(
    logs=histories(),
    laid=st.tuples(layouts, layouts),
    starts=st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
def test_the_divergence_offset_is_that_of_a_comparison_record_by_record(
    logs: tuple[list[Record], list[Record]],
    laid: tuple[Layout, Layout],
    starts: tuple[int, int],
    common_workplace: Path,
) -> None:
    plans = [dict(enumerate(log)) for log in logs]
    begins = [min(start, len(plan)) for start, plan in zip(starts, plans, strict=True)]
    with a_folder(common_workplace) as folder:
        brokers = {
            name: write(folder / name, plan, layout, end=len(plan), start=start)
            for name, plan, layout, start in zip("ab", plans, laid, begins, strict=True)
        }
        found = compared(brokers)
    shared = range(max(begins), min(map(len, plans)))
    expected = next((offset for offset in shared if plans[0][offset] != plans[1][offset]), None)
    assert found.divergence_offset == expected
    # Epochs differ no earlier than records, and where they do, followers truncate.
    (pair,) = found.pairs
    assert pair.epoch_divergence is None or pair.epoch_divergence >= (expected or 0)
    first = len(shared) if expected is None else expected
    later = [{record.epoch for record in list(plan.values())[first:]} for plan in plans]
    if begins == [0, 0] and not later[0] & later[1]:  # one leader per epoch
        for me, leader in ("ab", "ba"):
            assert found.truncation(me, leader).offset == first
    silent = {f.path for f in found.findings if f.kind == "silent-divergence"}
    for me, leader in ("ab", "ba"):
        after = found.truncation(me, leader).after
        stays = expected is not None and after.log_start_offset <= expected < after.log_end_offset
        assert (str(brokers[me] / "orders-0") in silent) == stays


@given(
    logs=histories(),
    laid=st.tuples(layouts, layouts),
    holes=st.tuples(st.sets(st.integers(0, 20)), st.sets(st.integers(0, 20))),
)
def test_holes_of_compaction_are_no_difference_and_others_are(
    logs: tuple[list[Record], list[Record]],
    laid: tuple[Layout, Layout],
    holes: tuple[set[int], set[int]],
    common_workplace: Path,
) -> None:
    plans = [
        {offset: record for offset, record in enumerate(log) if offset not in dropped}
        for log, dropped in zip(logs, holes, strict=True)
    ]
    with a_folder(common_workplace) as folder:
        brokers = {
            name: write(folder / name, plan, layout, end=len(log), start=0)
            for name, plan, layout, log in zip("ab", plans, laid, logs, strict=True)
        }
        apart = compared(brokers)
        (brokers["a"] / names.CLEANER_OFFSETS).write_bytes(OffsetCheckpoint({ORDERS: 0}).encode())
        together = compared(brokers)
        left, right = (wb.open_log_directory(path)["orders-0"] for path in brokers.values())
        effort = Effort()
        told = list(differences(left, right, effort=effort))
    shared = range(min(map(len, logs)))
    there = [[plan.get(offset) for plan in plans] for offset in shared]
    first = next((o for o, (a, b) in enumerate(there) if a and b and a != b), None)
    any_difference = next((o for o, (a, b) in enumerate(there) if a != b), None)
    assert (together.divergence_offset, apart.divergence_offset) == (first, any_difference)
    # The core: every offset of both logs, to their ends.
    every = sorted({*plans[0], *plans[1]})
    expected = [
        [o for o in every if o in plans[0] and o in plans[1] and plans[0][o] != plans[1][o]],
        [o for o in every if o not in plans[1]],
        [o for o in every if o not in plans[0]],
    ]
    assert [[int(o) for each in told for o in each[side]] for side in range(3)] == expected
    if plans[0] == plans[1] and laid[0].batches == laid[1].batches and laid[0][2] == laid[1][2]:
        assert effort.decoded_batches == 0


class Broken:
    """Two brokers' directories, copied again for each example."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        plan = {offset: Record(offset // 15, f"value {offset}") for offset in range(40)}
        layout = Layout([1, 3], 4, "gzip")
        self._whole = folder / "whole"
        write(self._whole / "a", plan, layout, end=40, start=0)
        other = plan | {offset: Record(4, "other") for offset in range(33, 40)}
        write(self._whole / "b", other, Layout([2], 5, "none"), end=40, start=3)

    def copy(self) -> dict[str, Path]:
        shutil.rmtree(self._folder / "now", ignore_errors=True)
        shutil.copytree(self._whole, self._folder / "now")
        return {name: self._folder / "now" / name for name in "ab"}


@pytest.fixture(scope="module")
def broken(common_workplace: Path) -> Broken:
    return Broken(common_workplace)


def logs_of(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)


@given(seed=st.integers(0, 2**32))
def test_damaged_files_are_told_and_raise_nothing(seed: int, broken: Broken) -> None:
    rng = Random(seed)
    brokers = broken.copy()
    for _ in range(rng.randint(1, 4)):
        path = rng.choice(list(logs_of(brokers[rng.choice("ab")])))
        edit(path, lambda data: damaged(data, rng))
    for deep in (True, False):
        # Only a directory in which nothing is left that looks like Kafka's may be refused.
        with suppress(wb.LogDirectoryError):
            found = wb.compare_replicas(brokers, deep=deep)
            assert all(each.as_dict() and str(each) for each in found)
            assert found.to_arrow().num_rows == sum(len(each.replicas) for each in found)


def damaged(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data))
    kind = rng.randrange(5)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes(len(data) - at)
    if kind == 2:
        return data[:at] + rng.randbytes(8) + data[at + 8 :]
    if kind == 3:
        return data[:at] + data
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
