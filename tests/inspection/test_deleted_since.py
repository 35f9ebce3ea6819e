"""Segments that a broker deletes after they were listed: what asks for them looks again."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import workbench as wb
from tests.campaign import calls
from workbench.files import names

SAMPLE: Final = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
PARTITIONS: Final = ("payments-0", "__consumer_offsets-2", "__transaction_state-0")
LATER: Final = 1_000_000  # the base offset of a segment that is rolled


def _delete(logs: list[Path]) -> None:
    for log in logs:
        for file in log.parent.glob(f"{log.stem}.*"):
            file.unlink()


def retained(folder: Path) -> None:
    """Delete every segment but the active one."""
    _delete(sorted(folder.glob("*.log"))[:-1])


def rolled(folder: Path) -> None:
    """Delete every segment; the active one is new, and empty."""
    _delete(sorted(folder.glob("*.log")))
    (folder / names.file_name("log", LATER)).touch()


def cleaned(folder: Path) -> None:
    """Put the segments together into one."""
    first, *others = sorted(folder.glob("*.log"))
    first.write_bytes(b"".join(each.read_bytes() for each in (first, *others)))
    first.with_suffix(".index").unlink()  # its entries would end early
    _delete(others)


def deleted(folder: Path) -> None:
    """Delete the topic."""
    shutil.rmtree(folder)


DELETIONS: Final[dict[str, Callable[[Path], None]]] = {
    each.__name__: each for each in (retained, rolled, cleaned, deleted)
}


def _copied(into: Path) -> Path:
    for name in PARTITIONS:
        shutil.copytree(SAMPLE / name, into / name)  # makes the folder, too
    for file in SAMPLE.iterdir():
        if file.is_file():
            shutil.copy(file, into)
    return into


def _listed(data: Path) -> wb.LogDirectory:
    logs = wb.open_log_directory(data)
    for partition in logs.values():
        assert partition.segments
    return logs


def _answers(logs: wb.LogDirectory) -> dict[str, Any]:
    every = logs.values()
    return {
        "ends": [(p.log_end_offset, p.broker_log_end_offset, p.committed_end) for p in every],
        "times": [p.offset_for_timestamp(time) for p in every for time in (0, 2**62)],
        "commits": logs.inspect.commits().to_pylist(),
        "groups": logs.inspect.groups().to_pylist(),
        "gaps": logs.inspect.gaps().num_rows > 0,
        "stuck": [(row["what"], row["topic"]) for row in logs.stuck(now=calls.NOW).to_pylist()],
    }


@pytest.mark.parametrize("how", [name for name in DELETIONS if name != "deleted"])
def test_what_is_asked_after_a_deletion_is_answered_as_it_is_then(how: str, tmp_path: Path) -> None:
    logs = _listed(_copied(tmp_path))
    for name in PARTITIONS:
        DELETIONS[how](tmp_path / name)
    assert _answers(logs) == _answers(wb.open_log_directory(tmp_path))


def test_a_partition_that_is_gone_has_no_records(tmp_path: Path) -> None:
    logs = _listed(_copied(tmp_path))
    for name in PARTITIONS:
        deleted(tmp_path / name)
    answers = _answers(logs)
    assert answers["ends"] == [(0, 0, 0)] * len(PARTITIONS)
    assert not answers["commits"]
    assert set(answers["times"]) == {None}


ASKS_ONE: Final = (  # a file that the caller names, or a log that has to be loaded
    "Segment.", "Partition.explain", "Partition.plan", "widgets",
)  # fmt: skip
CALLS: Final = [
    each
    for each in calls.CALLS
    if "each file" not in each.name and "copy" not in each.name  # these open one by one
    if not each.name.startswith(ASKS_ONE)
]


def _deletes(how: str, data: Path) -> Callable[..., wb.LogDirectory]:
    """Return what opens directories, and deletes files of the partitions once they are listed."""
    open_ = wb.open_log_directory

    def opened(paths: Any, **options: Any) -> wb.LogDirectory:
        logs = open_(paths, **options)
        for name in PARTITIONS if not (data / "done").exists() else ():
            assert logs[name].segments
            DELETIONS[how](data / name)
        (data / "done").touch()
        return logs

    return opened


@pytest.mark.long
@pytest.mark.parametrize("how", DELETIONS)
@pytest.mark.filterwarnings("ignore::workbench.errors.UncommittedRecordsWarning")
def test_every_call_after_a_deletion_ends(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missed: set[str] = set()
    name = ""

    def each(things: Any, call: Callable[[Any], object]) -> None:
        for thing in things:
            try:
                call(thing)
            except calls.DOCUMENTED as error:
                if isinstance(error, FileNotFoundError) and "snapshot" not in str(error):
                    missed.add(name)

    monkeypatch.setattr(calls, "each", each)
    for number, call in enumerate(CALLS):
        data, name = tmp_path / str(number), call.name
        with monkeypatch.context() as patched:
            patched.setattr(wb, "open_log_directory", _deletes(how, _copied(data)))
            if isinstance(call.run(data), FileNotFoundError):
                missed.add(name)
        shutil.rmtree(data)
    assert missed == set()
