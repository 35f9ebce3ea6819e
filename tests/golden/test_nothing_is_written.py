"""Reading changes nothing: no file, no time, no folder, whatever is called.

Every public name of the reading objects is tried, so a new one is covered when it appears.
"""

import contextlib
import hashlib
import inspect
import os
import pickle
import random
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.cli.program import run
from tests.golden.cases import Case
from workbench.errors import CorruptDataWarning, StateUnknownError
from workbench.inspection.bytes.fields import explain_batch
from workbench.inspection.lookups.record_window import RecordWindow
from workbench.inspection.partition import DiskPartition
from workbench.log_directory import LogDirectory

Golden = Callable[[str], Case]

DIRECTORIES = (
    ("4.2.0-txn", "data"),
    ("2.8.2-damage-clean", "before"),
    pytest.param("4.2.0-crash-produce-1", "before", marks=pytest.mark.long),
    pytest.param("3.9.1-compact-tombstones", "after2", marks=pytest.mark.long),
    pytest.param("k2.3-message-format", "before", marks=pytest.mark.long),
    pytest.param("k0.9-formats", "data", marks=pytest.mark.long),
    pytest.param("4.2.0-dirs", "before/data-a", marks=pytest.mark.long),
    pytest.param("4.2.0-raft", "before", marks=pytest.mark.long),
)

ASKS_THE_ENGINE = {"plan_cleaning", "explain_cleaning", "explain_retention"}
"""They load the log as a broker does, and fail where that would."""

OF_A_CLUSTER = {
    "topics", "topic_partitions", "configs", "acls", "quotas", "scram_users", "features", "brokers",
    "quorum", "delegation_tokens", "cluster_changes", "config",
}  # fmt: skip
"""The state of a cluster is unknown where its metadata log is not in the directories."""

COORDINATORS = (
    ("groups", "--json"),
    ("offsets", "--all", "--json"),
    ("group", "txn-group-commit", "--json"),
    ("transactions", "--json"),
    ("transactions", "--open"),
    ("transactions", "--markers"),
    ("repairs", "--show-values"),
)


def fingerprint(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Return everything about a tree but when it was last read."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        found[str(path.relative_to(folder))] = (
            status.st_mode,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_ino,
            content,
        )
    return found


def needs_arguments(call: Callable[..., Any]) -> bool:
    parameters = inspect.signature(call).parameters.values()
    optional = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    return any(p.default is p.empty and p.kind not in optional for p in parameters)


def use(thing: Any, names: set[str] | None = None) -> Iterator[tuple[str, Any]]:
    """Use every public name of an object that needs no argument; yield what came back."""
    for name in sorted(names or {name for name in dir(type(thing)) if not name.startswith("_")}):
        try:
            value = getattr(thing, name)
            if callable(value) and not inspect.isclass(value):
                if needs_arguments(value):
                    continue
                value = value()
        except StateUnknownError:
            if name not in OF_A_CLUSTER:
                raise
            continue
        except (workbench.WorkbenchError, ValueError, OSError):
            if name not in ASKS_THE_ENGINE:
                raise
            continue
        if name == "open":
            value.close()
        yield name, list(value) if inspect.isgenerator(value) else value
    repr(thing)
    if hasattr(thing, "_repr_html_"):
        thing._repr_html_()
    pickle.loads(pickle.dumps(thing))  # noqa: S301


def use_everything(logs: LogDirectory, elsewhere: Path) -> set[str]:
    """Call all that there is; return the names that were used."""
    used = set()
    for name, _ in use(logs):
        used.add(f"LogDirectory.{name}")
    for name, _ in use(logs.inspect):
        used.add(f"Inspect.{name}")
    for isolation in ("read_uncommitted", "read_committed"):
        scan = logs.scan(isolation_level=isolation, include_control=True)
        for name, _ in use(scan):
            used.add(f"Scan.{name}")
        scan.to_parquet(elsewhere / "records.parquet")
        assert sum(1 for _ in scan) == scan.count()
    logs.scan(timestamps=(0, 2**42), offsets=(3, 90), limit=5).to_arrow()
    for partition in logs.values():
        used |= use_partition(partition)
    return used


def use_partition(partition: DiskPartition) -> set[str]:
    """Call all that a partition and its segments have; return the names that were used."""
    used = {f"Partition.{name}" for name, _ in use(partition)}
    partition.offset_for_timestamp(5)
    partition.segment_of(3)
    for entry in partition.snapshots:
        partition.producer_snapshot(entry)
    for segment in partition.segments:
        used |= {f"Segment.{name}" for name, _ in use(segment)}
        segment.position_of(segment.base_offset + 2)
        if len(segment.batches):
            explain_batch(segment, int(segment.batches.rows[0]["position"]))
            window = RecordWindow(segment)
            window.read(0, 3)
            window.row_of_offset(segment.base_offset)
    return used


@pytest.mark.parametrize(("name", "label"), DIRECTORIES)
def test_no_reading_call_changes_anything(
    name: str, label: str, golden: Golden, tmp_path: Path
) -> None:
    directory = golden(name).directory(label)
    before = fingerprint(directory)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorruptDataWarning)
        used = use_everything(workbench.open_log_directory(directory), tmp_path)
    assert fingerprint(directory) == before
    expected = {"LogDirectory.verify", "Inspect.batches", "Scan.to_pandas", "Segment.read"}
    assert used >= expected | {"Partition.leader_epochs", "Scan.to_arrow_batch_reader"}


@pytest.mark.parametrize(("name", "label"), DIRECTORIES[:4])
def test_no_command_changes_anything(name: str, label: str, golden: Golden, tmp_path: Path) -> None:
    directory = golden(name).directory(label)
    before = fingerprint(directory)
    run("ls", directory)
    run("describe", directory)
    run("dump", directory, "--format", "jsonl", "--batches", "--control")
    run("verify", directory, "--json")
    run("search", directory, "--key", "k")
    out = tmp_path / "records.parquet"
    run("export", directory, out, "--format", "parquet")
    for command in COORDINATORS:
        run(*command, directory)
    assert fingerprint(directory) == before


def test_a_directory_that_may_not_be_written_is_read(golden: Golden, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(golden("4.2.0-txn").directory("data"), copy)
    folders = [copy, *(path for path in copy.rglob("*") if path.is_dir())]
    for path in copy.rglob("*"):
        path.chmod(0o444 if path.is_file() else 0o555)
    copy.chmod(0o555)
    before = fingerprint(copy)
    use_everything(workbench.open_log_directory(copy), tmp_path)
    assert fingerprint(copy) == before
    for folder in folders:
        folder.chmod(0o755)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux tells what is open")
def test_no_file_stays_open_and_none_is_opened_for_writing(golden: Golden, tmp_path: Path) -> None:
    directory = golden("4.2.0-txn").directory("data")
    opened: list[int] = []
    real_open = os.open

    def watched(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        if str(directory) in os.fspath(path):
            opened.append(flags)
        return real_open(path, flags, *arguments, **options)

    os.open = watched
    try:
        use_everything(workbench.open_log_directory(directory), tmp_path)
    finally:
        os.open = real_open
    assert opened
    assert all(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC) == 0 for flags in opened)
    still_open = []
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            still_open.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    assert not [path for path in still_open if str(directory) in path]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("name", "label", "folders"),
    [
        ("4.2.0-txn", "data", ("txn-a-0", "__consumer_offsets-0", "__transaction_state-0")),
        ("4.2.0-compact-tombstones", "after1", ("tomb-0-0",)),
        ("k1.1-message-format", "after", ("m-changing-0",)),
        ("k0.9-formats", "data", ("t-lz4-0", "t-none-0")),
    ],
)
def test_nothing_raises_whatever_file_is_damaged(
    name: str, label: str, folders: tuple[str, ...], seed: int, golden: Golden, tmp_path: Path
) -> None:
    """One to three files of a directory cut, changed, emptied, filled with noise or swapped."""
    randomly = random.Random(f"{name} {seed}")
    directory = golden(name).directory(label)
    copy = tmp_path / "copy"
    shutil.copytree(
        directory,
        copy,
        ignore=lambda at, all_: [] if at != str(directory) else others(at, all_, folders),
    )
    assert list(workbench.open_log_directory(copy)) == sorted(folders)
    for _ in range(8):
        before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
        for path in randomly.sample(sorted(before), randomly.randint(1, 3)):
            path.write_bytes(damaged(before[path], randomly))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CorruptDataWarning)
            use_everything(workbench.open_log_directory(copy), tmp_path)
        for command in (("ls",), ("describe",), ("dump",), ("verify",), *COORDINATORS):
            assert run(*command, copy).code in {0, 1, 2}
        for path, content in before.items():
            path.write_bytes(content)


def others(folder: str, entries: list[str], wanted: tuple[str, ...]) -> list[str]:
    """Return the partition folders that are not wanted."""
    return [name for name in entries if (Path(folder) / name).is_dir() and name not in wanted]


def damaged(data: bytes, randomly: random.Random) -> bytes:
    """Return bytes in which something is wrong."""
    kind = randomly.choice(["cut", "change", "noise", "empty", "longer", "zeros"])
    if kind == "empty" or not data:
        return b"" if data else randomly.randbytes(30)
    at = randomly.randrange(len(data))
    if kind == "cut":
        return data[:at]
    if kind == "noise":
        return randomly.randbytes(len(data))
    if kind == "longer":
        return data + randomly.randbytes(randomly.randint(1, 70))
    if kind == "zeros":
        return data[:at] + bytes(len(data) - at)
    return data[:at] + randomly.randbytes(3) + data[at + 3 :]
