"""A log that a broker writes meanwhile: what is not finished yet is no damage, and no record."""

import random
import shutil
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench
from tests.golden.cases import Case
from tests.naive import Record, batch
from tests.waiting import HANGS_AFTER_S
from workbench.file_system.local import LOCAL
from workbench.inspection import confirmed_findings
from workbench.inspection.confirmed_findings import check_twice
from workbench.inspection.listing import list_log_directories
from workbench.inspection.partition import DiskPartition
from workbench.inspection.verify.partition import Era, PartitionResult, verify_partition
from workbench.inspection.verify.shutdown_state import ShutdownState
from workbench.layout import problems

Golden = Callable[[str], Case]
LOG = "00000000000000000000.log"


def numbered(first: int, count: int) -> list[Record]:
    return [
        Record(at, 1000 + at, b"key-%d" % at, b"value-%d" % at * 20)
        for at in range(first, first + count)
    ]


def grow(path: Path, stop: threading.Event, seed: int) -> None:
    """Append batches in small pieces, as a reader may find them, until told to stop."""
    randomly = random.Random(seed)
    offset = 0
    with path.open("ab", buffering=0) as file:
        while not stop.is_set():
            data = batch(numbered(offset, 5), randomly.choice([0, 0, 1, 2, 3, 4]))
            offset += 5
            while data:
                size = randomly.choice([1, 7, 17, 61, 200, 1000])
                file.write(data[:size])
                data = data[size:]
                time.sleep(0)


@pytest.mark.parametrize("seed", range(3))
def test_a_reader_of_a_growing_log_never_sees_damage(seed: int, tmp_path: Path) -> None:
    partition = tmp_path / "live-0"
    partition.mkdir()
    path = partition / LOG
    path.touch()
    stop = threading.Event()
    writer = threading.Thread(target=grow, args=(path, stop, seed))
    writer.start()
    most = unfinished = 0
    try:
        end = time.monotonic() + 3
        last = end + HANGS_AFTER_S
        while time.monotonic() < end or (
            not (most > 100 and unfinished) and time.monotonic() < last
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # of damaged places
                logs = workbench.open_log_directory(tmp_path)
                scan = logs.scan(columns=["offset", "key"])
                table = scan.to_arrow()
            assert scan.findings == []
            assert table["offset"].to_pylist() == list(range(table.num_rows))
            assert table["key"].to_pylist() == [b"key-%d" % at for at in range(table.num_rows)]
            assert table.num_rows >= most
            most = table.num_rows
            (segment,) = logs["live-0"].segments
            stop_code = segment.batches.stop.code
            assert stop_code in {problems.END, problems.UNFINISHED}
            unfinished += stop_code == problems.UNFINISHED
            assert logs["live-0"].log_end_offset >= most
    finally:
        stop.set()
        writer.join()
    assert most > 100
    assert unfinished


def test_a_segment_that_grew_is_walked_again(tmp_path: Path) -> None:
    partition = tmp_path / "live-0"
    partition.mkdir()
    (partition / LOG).write_bytes(batch(numbered(0, 3)))
    segment = workbench.open_log_directory(tmp_path)["live-0"].segments[0]
    first = segment.batches
    assert segment.batches is first  # a second look costs nothing
    with (partition / LOG).open("ab") as file:
        file.write(batch(numbered(3, 3)))
    assert len(segment.batches) == 2


def test_files_that_vanish_while_they_are_listed_are_no_error(tmp_path: Path) -> None:
    """A broker deletes old segments, and whole partitions, at any time."""
    for name in ("a-0", "b-0"):
        (tmp_path / name).mkdir()
        for base in (0, 3):
            (tmp_path / name / f"{base:020}.log").write_bytes(batch(numbered(base, 3)))
    logs = workbench.open_log_directory(tmp_path)
    shutil.rmtree(tmp_path / "a-0")
    assert logs["a-0"].segments == ()
    assert logs["a-0"].log_end_offset == 0
    assert logs.scan(topics="b").count() == 6


def test_nothing_false_is_said_while_an_engine_rolls_cleans_and_swaps(tmp_path: Path) -> None:
    data = tmp_path / "data"
    command = [sys.executable, "-m", "tests.inspection.rolling_engine", str(data), "600"]
    engine = subprocess.Popen(
        command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
    )
    try:
        assert engine.stdout is not None
        assert engine.stdout.readline() == "ready\n"
        swapped, rolled = set[str](), set[int]()
        last = time.monotonic() + HANGS_AFTER_S
        while not (len(rolled) > 5 and swapped) and time.monotonic() < last:
            logs = workbench.open_log_directory(data)
            assert [str(finding) for finding in logs.verify()] == []
            swapped |= {file.name for file in logs["compacted-0"].leftovers}
            rolled |= {segment.base_offset for segment in logs["rolled-0"].segments}
        assert engine.poll() is None
        assert len(rolled) > 5
        assert swapped
    finally:
        engine.kill()
        engine.communicate()


@pytest.fixture(name="no_index")
def no_index_(tmp_path: Path) -> Path:
    """A partition whose first segment, of two, has no index."""
    folder = tmp_path / "live-0"
    folder.mkdir()
    for base in (0, 3):
        (folder / f"{base:020}.log").write_bytes(batch(numbered(base, 3)))
    (folder / f"{3:020}.index").touch()
    return folder


@pytest.mark.parametrize("what", ["stays", "is made", "is made late", "is gone"])
@pytest.mark.parametrize("is_running", [False, True])
def test_what_a_second_look_does_not_find_is_not_said(
    what: str,
    is_running: bool,  # noqa: FBT001
    no_index: Path,
) -> None:
    (partition,) = list_log_directories(no_index).roots[0].partitions
    era = Era(time_indexes=False, epochs_and_snapshots=False, metadata=False, kraft=False)
    looks = 0

    def check(partition: DiskPartition, *, deep: bool) -> PartitionResult:
        nonlocal looks
        looks += 1
        found = verify_partition(partition, ShutdownState(), era, deep=deep, is_cleaned=False)
        if what == "is made" or (what == "is made late" and looks == 2):
            for base in (0, 3):
                (no_index / f"{base:020}.index").touch()
                (no_index / f"{base:020}.timeindex").touch()
        elif what == "is made late":
            (no_index / "something-else").touch()
        elif what == "is gone":
            shutil.rmtree(no_index)
        return found

    findings = check_twice(partition, check, deep=True, is_running=is_running).findings
    said = {finding.kind for finding in findings if finding.severity != "info"}
    assert ("index-missing" in said) == (what == "stays")
    if what == "is gone":
        assert not findings
    if what == "stays":  # what does not change is checked once, if no broker is known to run
        assert looks == (4 if is_running else 1)


@pytest.mark.parametrize("what", ["stays", "is written again", "is deleted"])
def test_a_checkpoint_of_a_topic_that_was_made_again(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a running broker has written its checkpoints again, they have the old topic's."""
    monkeypatch.setattr(confirmed_findings, "_LATER_WAITS", ())
    (tmp_path / "again-0").mkdir()
    (tmp_path / "again-0" / LOG).write_bytes(batch(numbered(0, 3)))
    checkpoint = tmp_path / "replication-offset-checkpoint"
    checkpoint.write_text("0\n1\nagain 0 500\n")

    def change() -> None:
        if what == "is written again":
            (tmp_path / "renewed").write_text("0\n1\nagain 0 3\n")
            (tmp_path / "renewed").rename(checkpoint)
        elif what == "is deleted":
            (tmp_path / "again-0").rename(tmp_path / f"again-0.{'0' * 32}-delete")

    lock = LOCAL.lock(str(tmp_path / ".lock"))
    timer = threading.Timer(0.2, change)
    timer.start()
    found = {each.kind for each in workbench.open_log_directory(tmp_path).verify()}
    timer.join()
    lock.release()
    assert ("checkpoint-beyond-end" in found) == (what == "stays")


def test_a_killed_broker_s_last_batch_is_unfinished_not_damaged(golden: Golden) -> None:
    """Cut by hand as a power failure cuts; the broker that was started on it cut the rest off."""
    case = golden("4.2.0-crash-produce-1")
    before = workbench.open_log_directory(case.directory("torn-before"))
    after = workbench.open_log_directory(case.directory("torn-after"))
    torn = 0
    for name, partition in before.items():
        if name.startswith("crash-"):
            stop = partition.segments[-1].batches.stop
            torn += stop.code == problems.UNFINISHED
            scan = before.scan(partitions=name)
            table = scan.to_arrow()
            assert scan.findings == []
            kept = after.scan(partitions=name).to_arrow()
            assert kept.slice(0, table.num_rows).equals(table.slice(0, kept.num_rows))
    assert torn
