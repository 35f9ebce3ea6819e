"""What the cleaner takes of `compact,delete` logs after a start, as real brokers of 2.8 to 4.4 did.

The brokers had the same records: 60 of seven keys, three per batch, the last 20 young. Each cleaned
the log first, so that its old segments were merged with young ones, and retention kept them.
"""

from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from workbench.foresight.preflight.first_minutes import LogPass
from workbench.foresight.preflight.results import Preflight
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import ManualClock

_NOW = 1_796_070_700_000
_LONG_AGO = 1_577_836_800_000
_DAY = 86_400_000
_CONFIG = {
    "cleanup.policy": "compact,delete", "retention.ms": str(30 * _DAY), "segment.ms": "100000",
    "min.cleanable.dirty.ratio": "0.01",
}  # fmt: skip


@pytest.fixture(name="data")
def data_(tmp_path: Path) -> Path:
    """Return a directory with two logs alike, of topics `a` and `b`."""
    topics = {"a": _CONFIG, "b": _CONFIG}
    data = tmp_path / "data"
    with LogManager([data], topic_configs=topics, clock=ManualClock(_NOW)) as manager:
        for name in ("a-0", "b-0"):
            log = manager.get_or_create_log(name)
            for first in range(0, 60, 3):
                log.append([
                    (_time(at), b"k%d" % (at % 7), b"%060d" % at) for at in range(first, first + 3)
                ])  # fmt: skip
    return data


def _time(at: int) -> int:
    return _LONG_AGO + 10_000 * at if at < 40 else _NOW - (60 - at) * 20_000


def _preflight(data: Path, policy_of_b: str, kafka: str = "4.3", **more: str) -> Preflight:
    given = {f"{topic}:{name}": value for topic in "ab" for name, value in _CONFIG.items()}
    given |= {"b:cleanup.policy": policy_of_b, "b:retention.ms": "-1"} | more
    return wb.open_log_directory(data).preflight(given, kafka=kafka, now=_NOW)


def _passes(found: Preflight) -> dict[str, LogPass]:
    assert found.first_minutes is not None
    return {each.what: each for each in found.first_minutes.passes if each.topic == "a"}


def test_the_dirtiest_log_is_cleaned_before_retention_asks(data: Path) -> None:
    passes = _passes(_preflight(data, "delete"))
    assert {what: each.records for what, each in passes.items()} == {"compaction": 50}
    assert passes["compaction"].log_start_offset == 0


def test_before_3_1_every_log_is_cleaned_before_retention_asks(data: Path) -> None:
    """As real brokers of 1.1.1, 2.4.1 and 2.8.2 did with two logs that were as dirty."""
    passes = _passes(_preflight(data, "compact", kafka="2.8"))
    assert {what: each.records for what, each in passes.items()} == {"compaction": 50}


def test_of_logs_that_are_as_dirty_either_may_be_cleaned_before(data: Path) -> None:
    passes = _passes(_preflight(data, "compact"))
    assert {what: each.records for what, each in passes.items()} == {
        "retention": 39, "compaction": 11,
    }  # fmt: skip
    assert passes["retention"].log_start_offset == 39
    assert "if the cleaner cleans this log before" in passes["retention"].reason


def test_the_cleaner_deletes_segments_whatever_puts_the_check_off(data: Path) -> None:
    """As a real 4.3.1 worked on such a log with a delay of a day."""
    found = _preflight(data, "compact", **{"log.initial.task.delay.ms": "1d"})
    assert _passes(found)["retention"].at == _NOW + 15_000
    (step,) = (each.action for each in found.concerns if each.kind == "first-retention")
    assert "start with log.cleaner.enable=false in server.properties, which keeps the" in step
    assert "log.initial.task.delay.ms" not in step


def test_without_a_cleaner_nothing_is_deleted_of_a_compacted_topic(data: Path) -> None:
    """As a real 3.7.2 did."""
    found = _preflight(data, "compact", **{"log.cleaner.enable": "false"})
    assert _passes(found) == {}
    options = [f"a:{name}={value}" for name, value in _CONFIG.items()]
    given = [part for each in (*options, "log.cleaner.enable=false") for part in ("--set", each)]
    explained = run("explain", data, "-p", "a-0", "--now", str(_NOW), *given)
    assert "only the cleaner deletes segments of a topic whose cleanup.policy has" in explained.out
    would_be = run("what-if", data, "-t", "a", "--now", str(_NOW), *given, "--json").json
    (fate,) = would_be["partitions"]
    assert (fate["deleted_segments"], fate["log_start_offset"]) == (0, 0)
