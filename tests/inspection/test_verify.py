"""What `verify` is given and gives: paths, filters, depth, one broker's several directories."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import corrupt
from tests.golden.cases import Case
from workbench.errors import LogDirectoryError
from workbench.file_system.source import open_regular
from workbench.files import reading
from workbench.inspection.findings import KINDS, Finding, worst
from workbench.inspection.listing import Root, list_log_directories
from workbench.inspection.partition import DiskPartition
from workbench.inspection.verify.verify import verify, verify_listing, verify_partitions

Golden = Callable[[str], Case]

LOCK = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX)"
WAIT = "; print('locked', flush=True); sys.stdin.read()"


@pytest.fixture
def directory(golden: Golden, tmp_path: Path) -> Path:
    """Return a healthy directory with the partitions dmg-none-0 and dmg-t-none-0."""
    source = golden("4.2.0-damage-directory").directory("top-stray-file/before")
    copy = tmp_path / "data"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("notes.txt"))
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (copy / name).write_text("0\n2\ndmg-t-none 0 64\ndmg-none 0 64\n")
    assert verify(copy) == []
    return copy


def last_log(directory: Path, partition: str = "dmg-none-0") -> Path:
    return max((directory / partition).glob("*.log"))


def kinds(found: list[Finding]) -> set[str]:
    return {finding.kind for finding in found}


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the directory's lock as a broker does, in another process."""
    arguments = [sys.executable, "-c", LOCK + WAIT, str(directory / ".lock")]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        yield
        process.stdin.close()


def test_an_unfinished_batch_is_not_yet_written_while_a_broker_runs(directory: Path) -> None:
    """FR-15."""
    (directory / ".kafka_cleanshutdown").unlink()
    log = last_log(directory)
    log.write_bytes(log.read_bytes() + log.read_bytes()[:50])
    with locked(directory):
        found = [f for f in verify(directory) if f.kind == "torn-tail"]
    assert [(f.severity, f.position) for f in found] == [("info", log.stat().st_size - 50)]
    assert "not yet written" in found[0].broker.lower()
    found = [f for f in verify(directory) if f.kind == "torn-tail"]
    assert [f.severity for f in found] == ["warning"]
    assert "recovery truncates these bytes" in found[0].broker


def test_a_partition_opened_by_itself_is_known_to_be_in_use(directory: Path) -> None:
    (directory / ".kafka_cleanshutdown").unlink()
    log = last_log(directory)
    log.write_bytes(log.read_bytes() + log.read_bytes()[:50])
    with locked(directory):
        found = [f for f in verify(log.parent) if f.kind == "torn-tail"]
    assert [f.severity for f in found] == ["info"]
    assert "not yet written" in found[0].broker.lower()
    assert {f.severity for f in verify(log.parent) if f.kind == "torn-tail"} == {"warning"}


def test_a_log_opened_by_itself_is_known_to_be_in_use(directory: Path) -> None:
    (directory / ".kafka_cleanshutdown").unlink()
    log = last_log(directory)
    content = log.read_bytes()
    log.write_bytes(content + content[:50])
    with locked(directory):
        (found,) = verify(log)
        later = int.from_bytes(content[:8]) + 10_000_000
        (log.parent / f"{later:020}.log").touch()
        (rolled,) = verify(log)
    assert (found.kind, found.severity) == ("torn-tail", "info")
    assert "not yet written" in found.broker.lower()
    assert (rolled.kind, rolled.severity) == ("torn-tail", "error")
    assert [each.severity for each in verify(log)] == ["warning"]


def test_a_running_broker_s_directory_is_healthy(golden: Golden, tmp_path: Path) -> None:
    shutil.copytree(golden("4.2.0-crash-produce-1").directory("before"), tmp_path / "data")
    with locked(tmp_path / "data"):
        assert worst(verify(tmp_path / "data")) in {None, "info"}


def test_the_lock_file_is_not_opened(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing it would drop a lock that this process may hold."""
    (directory / ".kafka_cleanshutdown").unlink()
    (directory / ".lock").touch()
    opened: list[str] = []
    real = os.open

    def watch(path: str, *rest: int) -> int:
        opened.append(str(path))
        return real(path, *rest)

    monkeypatch.setattr(os, "open", watch)
    verify(directory)
    assert opened
    assert not [path for path in opened if path.endswith(".lock")]


def test_verify_changes_nothing(directory: Path) -> None:
    corrupt.edit(last_log(directory), lambda data: corrupt.flip(data, 100))
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files_of(directory)}
    assert kinds(verify(directory)) == {"crc"}
    after = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files_of(directory)}
    assert after == before


def files_of(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def test_topics_and_partitions_choose_what_is_checked(directory: Path) -> None:
    corrupt.edit(last_log(directory), lambda data: corrupt.flip(data, 100))
    (directory / "not a partition").mkdir()
    listing = list_log_directories(directory)
    assert kinds(verify_listing(listing)) == {"crc", "unknown-folder"}
    assert kinds(verify_listing(listing, topics=["dmg-none"])) == {"crc"}
    assert verify_listing(listing, topics=["dmg-t-none"]) == []
    assert verify_listing(listing, partitions=[7]) == []
    assert kinds(verify_listing(listing, topics=["dmg-none"], partitions=[0])) == {"crc"}


def test_checkpoints_are_held_against_chosen_partitions(directory: Path) -> None:
    last_log(directory).write_bytes(b"")
    found = verify_listing(list_log_directories(directory), topics=["dmg-none"])
    assert "checkpoint-beyond-end" in kinds(found)
    found = verify_listing(list_log_directories(directory), topics=["dmg-t-none"])
    assert found == []


def test_steps_are_told_partition_by_partition_and_then_the_directory(directory: Path) -> None:
    steps = [step for step, _ in verify_partitions(list_log_directories(directory))]
    assert [s.name for s in steps if isinstance(s, DiskPartition)] == ["dmg-none-0", "dmg-t-none-0"]
    assert [type(step) for step in steps] == [DiskPartition, DiskPartition, Root, Root]


def test_without_depth_headers_are_walked_and_records_are_not(directory: Path) -> None:
    corrupt.edit(last_log(directory), lambda data: corrupt.flip(data, 100))
    assert verify(directory, deep=False) == []
    corrupt.edit(last_log(directory), lambda data: corrupt.flip(data, 16, 3))
    assert kinds(verify(directory, deep=False)) == {"magic"}


def test_without_depth_batches_behind_a_damaged_size_are_found(directory: Path) -> None:
    log = min((directory / "dmg-none-0").glob("*.log"))
    corrupt.edit(log, lambda data: corrupt.overwrite(data, 8, b"\x7f"))
    assert kinds(verify(directory, deep=False)) == {"batch-size"}
    assert kinds(verify(directory)) == {"batch-size"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("dmg-none-0/00000000000000000000.log", "crc"),
        ("dmg-none-0/00000000000000000000.index", "index-size"),
        ("dmg-none-0/00000000000000000000.timeindex", "time-index-size"),
        ("dmg-t-none-0/00000000000000000006.txnindex", "transaction-index-size"),
        ("dmg-t-none-0/00000000000000000064.snapshot", "snapshot-damaged"),
        ("dmg-none-0/leader-epoch-checkpoint", "leader-epochs-damaged"),
        ("dmg-none-0/partition.metadata", "partition-metadata-damaged"),
        ("recovery-point-offset-checkpoint", "checkpoint-damaged"),
        ("meta.properties", "meta-properties-damaged"),
        (".kafka_cleanshutdown", "clean-shutdown-damaged"),
    ],
)
def test_a_single_file_is_checked_by_itself(name: str, kind: str, directory: Path) -> None:
    path = directory / name
    assert verify(path) == []
    whole = path.read_bytes()
    if path.suffix == ".log":
        path.write_bytes(corrupt.flip(whole, len(whole) - 1))
    else:
        path.write_bytes(b"version=x\nbroker" if "properties" in name else whole[:-1] + b"\xff\n{}")
    if path.suffix in {".index", ".timeindex", ".txnindex"}:
        path.write_bytes(whole + b"abc")
    assert kinds(verify(path)) == {kind}


@pytest.mark.parametrize("kinds_of_files", [("timeindex",), ("index", "timeindex")])
def test_an_index_that_was_about_to_be_put_in_place_is_not_missing(
    kinds_of_files: tuple[str, ...], directory: Path
) -> None:
    """A broker that is killed between the renames of a swap leaves the log without its index."""
    first = min((directory / "dmg-none-0").glob("*.log"))
    for kind in kinds_of_files:
        index = first.with_suffix(f".{kind}")
        index.rename(f"{index}.swap")
    (found,) = verify(directory)
    assert found.kind == "leftover-swap"
    assert "removes .swap from the names" in found.broker
    first.with_suffix(".log.cleaned").touch()  # such a swap is thrown away
    missing = {f"{'time-' if kind == 'timeindex' else ''}index-missing" for kind in kinds_of_files}
    assert kinds(verify(directory)) == {"leftover-swap", "leftover-cleaned"} | missing


def test_a_transaction_index_may_not_tell_of_what_was_torn_off(directory: Path) -> None:
    """The marker of an entry is not in the log: its last bytes were not written."""
    (partition,) = list_log_directories(directory / "dmg-t-none-0").partitions.values()
    segment = partition.segments[-1]
    assert segment.transaction_index is not None
    last = int(segment.transaction_index.last_offsets[-1])
    rows = segment.batches.rows
    at = int(rows["position"][rows["base_offset"] == last][0])
    corrupt.edit(Path(segment.path), lambda data: data[: at + 40])
    (directory / ".kafka_cleanshutdown").unlink()
    found = [finding for finding in verify(directory) if finding.path.endswith(".txnindex")]
    assert [(finding.kind, finding.offset, finding.severity) for finding in found] == [
        ("transaction-index-entry", last, "warning")
    ]


def test_a_partition_by_itself_says_what_either_stop_would_lead_to(
    directory: Path, tmp_path: Path
) -> None:
    log = last_log(directory)
    corrupt.edit(log, lambda data: corrupt.flip(data, 100))
    alone = shutil.copytree(directory / "dmg-none-0", tmp_path / "alone" / "dmg-none-0")
    (found,) = verify(alone)
    assert found.kind == "crc"
    assert "clean shutdown" in found.broker
    assert "recovery truncates the log here" in found.broker


def test_two_directories_of_one_broker_are_held_against_each_other(
    directory: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    shutil.copytree(directory, second)
    found = verify([directory, second])
    assert kinds(found) == {"duplicate-partition", "meta-properties-mismatch"}
    assert {f.path for f in found} == {
        f"{second}/dmg-none-0", f"{second}/dmg-t-none-0", f"{second}/meta.properties",
    }  # fmt: skip
    for name in ("dmg-none-0", "dmg-t-none-0"):
        shutil.rmtree(second / name)
    text = (second / "meta.properties").read_text()
    text = text.replace("node.id=1", "node.id=2").replace("directory.id=", "ignored=")
    (second / "meta.properties").write_text(text)
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (second / name).write_text("0\n0\n")
    (found_there,) = verify([directory, second])
    assert found_there.kind == "meta-properties-mismatch"
    assert "node.id 2" in found_there.found


def test_the_directories_of_one_broker_are_healthy_together(golden: Golden) -> None:
    case = golden("4.2.0-dirs")
    both = [case.directory("before/data-a"), case.directory("before/data-b")]
    assert worst(verify(both)) in {None, "info"}


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("5.log", "warning"),
        ("notes.log", "error"),
        ("x.index", "error"),
        ("new.snapshot", "warning"),
    ],
)
def test_a_wrong_name_is_found(name: str, severity: str, directory: Path) -> None:
    (directory / "dmg-none-0" / name).write_bytes(b"x")
    (found,) = verify(directory)
    assert (found.kind, found.severity) == ("file-name", severity)


def test_a_topic_name_that_no_cluster_has_is_found(directory: Path) -> None:
    (directory / "dmg-none-0").rename(directory / "dmg none-0")
    assert "topic-name" in kinds(verify(directory))


def test_a_file_that_may_not_be_read_is_a_finding(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = str(last_log(directory))
    real = os.open

    def refuse(path: str, *rest: int) -> int:
        if path == log:
            raise PermissionError(13, "Permission denied", path)
        return real(path, *rest)

    monkeypatch.setattr(os, "open", refuse)
    found = verify(directory)
    assert [(f.kind, f.path, f.found) for f in found] == [("unreadable", log, "Permission denied")]


def test_a_segment_that_goes_away_meanwhile_is_no_finding(directory: Path) -> None:
    listing = list_log_directories(directory)
    assert all(partition.segments for partition in listing.partitions.values())
    first = min((directory / "dmg-none-0").glob("*.log"))
    for suffix in ("log", "index", "timeindex"):
        first.with_suffix(f".{suffix}").unlink()
    assert verify_listing(listing) == []


def test_a_path_that_is_not_there_raises(tmp_path: Path) -> None:
    with pytest.raises(LogDirectoryError):
        verify(tmp_path / "nowhere")


def test_every_kind_has_a_short_name_and_a_meaning() -> None:
    assert all(kind == kind.lower() and " " not in kind for kind in KINDS)
    assert all(meaning and not meaning.endswith(".") for meaning in KINDS.values())


def test_worst_is_the_highest_severity() -> None:
    found = [Finding("crc", s, "a", None, None, "", "", "") for s in ("warning", "error", "info")]
    assert worst(found) == "error"
    assert worst(found[2:]) == "info"
    assert worst([]) is None


@pytest.mark.parametrize(
    "name",
    [
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "replication-offset-checkpoint",
        "cleaner-offset-checkpoint",
    ],
)
def test_a_file_that_the_disk_does_not_give_is_told_and_the_rest_is_checked(
    name: str, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = directory / name
    path.touch()
    log = last_log(directory)
    log.write_bytes(log.read_bytes() + bytes(11))

    def open_failing(asked: str, flags: int = os.O_RDONLY) -> int:
        return os.open("/proc/self/mem", flags) if asked == str(path) else open_regular(asked)

    monkeypatch.setattr(reading, "open_regular", open_failing)  # the system gives EIO at byte 0
    found = verify(directory)
    assert [(f.severity, f.found) for f in found if f.path == str(path)] == [
        ("error", os.strerror(errno.EIO))
    ]
    assert "zero-tail" in kinds(found)


def test_a_folder_with_the_name_of_a_file_is_told_as_such(directory: Path) -> None:
    log = last_log(directory)
    log.unlink()
    log.mkdir()
    (found,) = [f for f in verify(directory) if f.kind == "not-a-file"]
    assert (found.path, found.found, found.expected) == (str(log), "a folder", "a regular file")
