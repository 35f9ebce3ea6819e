"""What is explained of retention is what the engine then does."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.log.logs import NOW, LogHome
from workbench.config.log_config import LogConfig
from workbench.foresight.explain.retention import explain_retention
from workbench.log.log import Log
from workbench.log.retention import all_verdicts
from workbench.record.memory_records import MemoryRecords

HOUR = 3_600_000  # ms


def _log(root: Path, ages: list[int], **options: Any) -> Log:
    """Return a log with a segment for each age, ms, of its records."""
    log = LogHome(root, {name.replace("_", "."): value for name, value in options.items()}).open()
    for number, age in enumerate(ages):
        if number:
            log.roll()
        log.append_as_leader(MemoryRecords.of((NOW - age, b"k", b"v" * 10)))
    log.update_high_watermark(log.log_end_offset)
    return log


@examples(15)
@given(
    ages=st.lists(st.integers(-HOUR, 9 * HOUR), min_size=1, max_size=6),
    retention_ms=st.sampled_from([-1, 0, HOUR, 5 * HOUR]),
    retention_bytes=st.sampled_from([-1, 0, 100, 250]),
    policy=st.sampled_from(["delete", "compact", "compact,delete"]),
    start=st.integers(0, 6),
)
def test_the_verdicts_together_are_those_of_the_engine(
    tmp_path_factory: pytest.TempPathFactory,
    ages: list[int],
    retention_ms: int,
    retention_bytes: int,
    policy: str,
    start: int,
) -> None:
    log = _log(tmp_path_factory.mktemp("log"), ages)
    log.update_config(
        LogConfig.of(
            {
                "retention.ms": retention_ms,
                "retention.bytes": retention_bytes,
                "cleanup.policy": policy,
            }
        )
    )
    log.maybe_increment_log_start_offset(min(start, log.log_end_offset), "a test")
    state = log.retention_state()
    expected = [
        (verdict.rule, verdict.segment.base_offset, verdict.is_deleted)
        for verdict in all_verdicts(state)
    ]
    rows = explain_retention(state, "given")
    done = [
        (verdict.rule, verdict.segment.base_offset, verdict.is_deleted)
        for verdict in log.delete_old_segments()
        if verdict.segment in state.segments
    ]
    assert expected == done
    told = {(row.rule, row.segment) for row in rows if row.verdict == "deleted"}
    assert told == {(rule, base) for rule, base, is_deleted in done if is_deleted}
    gone = {base for _, base in told}
    for segment in state.segments:
        kept = [row for row in rows if row.segment == segment.base_offset]
        assert kept
        assert (kept[-1].verdict != "deleted") == (segment.base_offset not in gone)


def test_when_a_segment_goes_is_told_and_true(tmp_path: Path) -> None:
    log = _log(tmp_path, [HOUR, 3 * HOUR, 0], retention_ms=2 * HOUR)
    state = log.retention_state()
    rows = [row for row in explain_retention(state, "x") if row.rule == "retention.ms"]
    assert [row.verdict for row in rows] == ["kept", "not asked", "not asked"]
    assert [row.due for row in rows] == [NOW + HOUR + 1, NOW + HOUR + 1, NOW + 2 * HOUR + 1]
    assert "on its own, this segment would be deleted" in rows[1].reason
    assert rows[0].reason.endswith(
        " is 3,600,000 ms (1 h) old, not above retention.ms = 7,200,000 (2 h)"
    )
    for now, count in ((NOW + HOUR, 0), (NOW + HOUR + 1, 2), (NOW + 2 * HOUR + 1, 3)):
        verdicts = all_verdicts(state._replace(now=now))
        assert sum(verdict.is_deleted for verdict in verdicts) == count


def test_a_rule_without_a_segment_left_says_so(tmp_path: Path) -> None:
    log = _log(tmp_path, [HOUR, 0], retention_bytes=0, retention_ms=HOUR)
    row = explain_retention(log.retention_state(), "x")[-1]
    assert (row.rule, row.verdict) == ("retention.ms", "kept")
    assert row.reason == "the rules before it deleted every segment"
