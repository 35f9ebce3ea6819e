"""Timestamps of another unit than ms: every text that shows them names the value and the unit."""

from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from tests.log.logs import LogHome
from workbench.record.memory_records import MemoryRecords
from workbench.runtime.times import likely_unit, milliseconds, time_text

_AT = milliseconds("2025-11-25T16:00:00Z")
_ISO = "2025-11-25T16:00:00.000Z"


@pytest.mark.parametrize(
    ("timestamp", "words"),
    [
        (_AT * 1000, f"in microseconds: {_ISO}"),
        (_AT * 1_000_000, f"in nanoseconds: {_ISO}"),
        (_AT // 1000, f"in seconds: {_ISO}"),
        (_AT, None),
        (0, None),
        (-1, None),
        (2**63 - 1, None),
    ],
)
def test_a_unit_is_recognized_by_the_decade_that_it_gives(
    timestamp: int, words: str | None
) -> None:
    assert likely_unit(timestamp) == words
    if words is not None and timestamp > _AT:
        assert time_text(timestamp) == f"{timestamp:,} ms ({words})"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Return a log directory: `orders` with a record in microseconds, at offset 2, then a roll."""
    home = LogHome(tmp_path, {"message.timestamp.after.max.ms": 2**63 - 1})
    log = home.open()
    for stamp in (_AT, _AT + 1, _AT * 1000, _AT + 3):
        log.append_as_leader(MemoryRecords.of((stamp, b"k", b"v")), 0)
    log.roll()
    log.append_as_leader(MemoryRecords.of((_AT + 4, b"k", b"v")), 0)
    log.close()
    return Path(log.directory)


def test_explain_names_the_record_its_timestamp_and_the_unit(logs: Path) -> None:
    seen = f"the record at offset 2 has the timestamp {_AT * 1000}, which seems to be in "
    seen += f"microseconds: {_ISO}"
    out = run("explain", logs, "--now", str(_AT + 10**12), "--json").json
    (answer,) = out
    assert seen in answer["retention"]["conclusion"]
    assert "not a time" not in str(out)
    assert "does not delete it before the year 10000" in answer["retention"]["conclusion"]
    compacting = ["--set", "cleanup.policy=compact", "--set", "min.compaction.lag.ms=1000"]
    (answer,) = run("explain", logs, "--now", str(_AT + 10**12), *compacting, "--json").json
    assert seen in str(answer["cleaning"])


def test_verify_tells_of_it_with_info_alone(logs: Path) -> None:
    assert [each.kind for each in wb.verify(logs) if each.kind == "timestamp-range"] == []
    (found,) = (each for each in wb.verify(logs, info=True) if each.kind == "timestamp-range")
    assert (found.offset, found.severity) == (2, "info")
    assert found.found == f"timestamp {_AT * 1000} (in microseconds: {_ISO})"


def test_a_ratio_of_one_is_never_exceeded_whatever_is_written(logs: Path) -> None:
    never = ["--set", "cleanup.policy=compact", "--set", "min.cleanable.dirty.ratio=1"]
    (answer,) = run("explain", logs, "--now", str(_AT * 2000), *never, "--json").json
    conclusion = answer["cleaning"]["conclusion"]
    assert conclusion.endswith("with this configuration it never is: no dirty ratio is above 1")
    limited = [*never, "--set", "max.compaction.lag.ms=1000"]
    (answer,) = run("explain", logs, "--now", str(_AT * 2000), *limited, "--json").json
    assert "never" not in answer["cleaning"]["conclusion"]
