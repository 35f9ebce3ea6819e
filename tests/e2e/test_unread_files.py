"""What cannot be read ends nothing and is named, and nothing false is said of it."""

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest

import workbench
from tests.cli.program import run
from tests.log_manager.managers import Managed, records
from tests.special_files import NOT_REGULAR, as_somebody_else, at_most
from workbench.inspection.findings import KINDS

LIMIT: Final = 30  # seconds for everything: it takes one or two
HOUR: Final = 3_600_000  # ms
NAMED: Final = "orders-0"
OTHER: Final = "orders-1"
RECORDS: Final = 20  # of each partition, in four segments

IN_PARTITION: Final = (
    f"{0:020d}.log",
    f"{15:020d}.log",
    f"{0:020d}.index",
    f"{5:020d}.timeindex",
    f"{5:020d}.txnindex",
    f"{20:020d}.snapshot",
    "leader-epoch-checkpoint",
    "partition.metadata",
)
IN_DIRECTORY: Final = (
    "meta.properties",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
    ".kafka_cleanshutdown",
)
PLACES: Final = (*(f"{NAMED}/{name}" for name in IN_PARTITION), *IN_DIRECTORY, NAMED)
FEW_PLACES: Final = (f"{NAMED}/{15:020d}.log", "recovery-point-offset-checkpoint", NAMED)


def dangle(path: Path) -> None:
    path.symlink_to("nothing-here")


def turn_round(path: Path) -> None:
    path.symlink_to(path.name)


def lead_out(path: Path) -> None:
    outside = path.parents[2 if path.parent.name == NAMED else 1] / "outside"
    outside.mkdir(exist_ok=True)
    moved = outside / path.name
    shutil.move(str(path.with_name(path.name + ".was")), moved)
    path.symlink_to(moved)


def forbid(path: Path) -> None:
    shutil.move(str(path.with_name(path.name + ".was")), path)
    path.chmod(0)


MADE: Final[dict[str, Callable[[Path], None]]] = {
    **NOT_REGULAR,
    "nothing": dangle,
    "a circle": turn_round,
    "outside": lead_out,
    "forbidden": forbid,
}


LINKS: Final = frozenset({"nothing", "a circle", "outside", "a character device"})


@pytest.fixture(name="sound", scope="module")
def sound_() -> Iterator[Path]:
    """Two logs as a clean shutdown leaves them, where any user of the machine gets to."""
    base = Path(tempfile.mkdtemp())
    base.chmod(0o755)
    managed = Managed(base / "data", topic_configs={"orders": {"segment.ms": HOUR}})
    with managed.manager as manager:
        logs = [manager.get_or_create_log(name, topic_id=UUID(int=5)) for name in (NAMED, OTHER)]
        for _ in range(4):
            for log in logs:
                log.append(records(5))
            managed.clock.advance(HOUR + 1)
    for folder in (base / "data" / NAMED, base / "data" / OTHER):
        (folder / f"{5:020d}.txnindex").touch()
    ends = f"0\n2\norders 0 {RECORDS}\norders 1 {RECORDS}\n"
    (base / "data" / "replication-offset-checkpoint").write_text(ends)
    everything(base / "data")  # with the rights to load and compile whatever is needed
    yield base / "data"
    shutil.rmtree(base)


@pytest.fixture(name="data")
def data_(sound: Path) -> Iterator[Path]:
    """A copy of the sound directory."""
    base = Path(tempfile.mkdtemp())
    base.chmod(0o755)
    shutil.copytree(sound, base / "data")
    yield base / "data"
    for folder, _, _ in os.walk(base):
        Path(folder).chmod(0o755)
    shutil.rmtree(base)


def everything(path: Path) -> dict[str, Any]:
    """Return what all readers make of a directory; none of them may raise or wait."""
    found: dict[str, Any] = {}
    with at_most(seconds=LIMIT), warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        logs = workbench.open_log_directory(path)
        found["findings"] = logs.verify(info=True)
        found["shallow"] = logs.verify(info=True, deep=False)
        for level in ("read_uncommitted", "read_committed"):
            scan = logs.scan(isolation_level=level)
            counts = scan.to_arrow()["partition"].value_counts().to_pylist()
            found[level] = {each["values"]: each["counts"] for each in counts}
            found[f"{level} findings"] = scan.findings
        inspect = logs.inspect
        for table in (
            inspect.segments, inspect.batches, inspect.offset_index, inspect.time_index,
            inspect.aborted_transactions, inspect.producers, inspect.checkpoints,
            inspect.leader_epochs, inspect.keys, inspect.disk_usage, inspect.findings,
            inspect.files,
        ):  # fmt: skip
            found[f"inspect.{table.__name__}"] = table().num_rows
        found["prediction"] = logs.predict_startup()
        for command in ("ls", "verify", "describe", "dump", "predict", "preflight"):
            outcome = run(command, path, "--json")
            assert outcome.code in {0, 1, 2}, outcome.err
            found[command] = outcome
        logs._repr_html_()
    return found


def test_a_sound_directory_gives_nothing_of_all_this(data: Path) -> None:
    found = everything(data)
    assert found["findings"] == []
    assert found["read_committed"] == {0: RECORDS, 1: RECORDS}
    assert {row.verdict for row in found["prediction"]} == {"loads"}


CASES: Final = sorted(
    {(made, place) for made in ("a FIFO", "outside", "forbidden") for place in PLACES}
    | {(made, place) for made in MADE for place in FEW_PLACES}
    - {("a folder", NAMED)}  # that is what it is
)


@pytest.mark.parametrize(("made", "place"), CASES)
def test_what_cannot_be_read_is_named_and_the_rest_goes_on(
    made: str, place: str, data: Path
) -> None:
    path = data / place
    was = path.with_name(path.name + ".was")
    path.rename(was)
    MADE[made](path)
    if was.is_dir():
        shutil.rmtree(was)
    was.unlink(missing_ok=True)

    with as_somebody_else() if made == "forbidden" else nullcontext():
        found = everything(data)

    # It is said, with its path and what it is; what would follow from a missing file is not said.
    (said,) = (each for each in found["findings"] if each.kind != "checkpoint-partition")
    assert said.path == str(path)
    assert said.kind == kind_of(made, place)
    assert said.kind in KINDS
    # The other partition is read as always, and so is what is readable of this one.
    lost = RECORDS if place == NAMED else 5 if place.endswith(".log") else 0
    for level in ("read_uncommitted", "read_committed"):
        expected = {0: RECORDS - lost, 1: RECORDS}
        assert found[level] == {number: count for number, count in expected.items() if count}
        if made in LINKS | {"forbidden"} or place != NAMED:
            assert [each.path for each in found[f"{level} findings"]] == [str(path)] * bool(lost)
    # Nothing is predicted of what was not read.
    prediction = found["prediction"]
    if place in IN_DIRECTORY and made in {"a folder", "nothing", "a circle"}:
        return  # a broker would find the same
    assert prediction.starts, prediction.problem
    assert {each.verdict for each in prediction.directories} <= {"online", "unread"}
    assert {row.verdict for row in prediction} <= {"loads", "unread"}


def kind_of(made: str, place: str) -> str:
    """Return the kind of finding that reports something at a position."""
    if made in LINKS:
        return "link-not-followed"
    if made == "forbidden":
        return "unreadable"
    return "unknown-folder" if made == "a folder" and "/" not in place else "not-a-file"
