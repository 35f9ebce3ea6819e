"""Kafka's own cleaner and ours leave the same of random logs, pass after pass.

A few hundred cases run here; thousands with ``python -m tests.cleaner_jvm.campaign 1000 5000``.
"""

import shutil
from pathlib import Path

import pytest

from tests.cleaner_jvm.campaign import assert_same_cleanings, clean_by_kafka
from tests.cleaner_jvm.judge import assert_same_log
from tests.cleaner_jvm.logs import Case
from tests.naive import Record, batch

CASES = 240
DAMAGED = 60  # of the cases
PARTS = 8


@pytest.fixture(scope="module")
def cases(common_workplace: Path) -> list[Case]:
    """Return the cases, which Kafka has run."""
    made = [Case(seed) for seed in range(CASES)]
    for case in made[-DAMAGED:]:
        case.damage()
    clean_by_kafka(made, common_workplace)
    return made


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_both_cleaners_leave_the_same(part: int, cases: list[Case], common_workplace: Path) -> None:
    for case in cases[part::PARTS]:
        assert_same_cleanings(case, common_workplace)


@pytest.mark.broker
@pytest.mark.slow
def test_the_cases_come_to_everything(cases: list[Case], common_workplace: Path) -> None:
    told = [(common_workplace / f"{case.seed}" / "script.kafka").read_text() for case in cases]
    lines = [line for text in told for line in text.splitlines()]
    cleanings = [line for line in lines if line.partition(" ")[2].startswith("clean ")]
    done = [line.split() for line in cleanings if " end " in line]
    assert len(done) > CASES
    assert sum("nothing" in line for line in cleanings) > CASES / 10
    assert any(
        "error IllegalStateException" in line for line in cleanings
    )  # magic 0 or 1 at its end
    assert sum(line[line.index("full") + 1] != "0.0" for line in done) > CASES / 2
    read = [[int(line[line.index(name) + 1]) for name in ("read", "written")] for line in done]
    assert sum(written < before for before, written in read) > CASES
    assert sum(int(line[line.index("invalid") + 1]) > 0 for line in done) > CASES / 10
    assert any(int(line[line.index("end") + 1]) < int(line[3]) for line in done)  # the map was full
    assert {case.has_codecs for case in cases} == {False, True}
    assert sum(case.is_damaged for case in cases) > DAMAGED / 2


# The judge can say no.


def test_the_judge_sees_a_record_an_offset_and_an_index_entry_that_differ(tmp_path: Path) -> None:
    sound = batch([Record(0, 7, b"k", b"v"), Record(1, 7, b"l", b"v")], 1)
    others = (
        batch([Record(0, 7, b"k", b"v"), Record(1, 7, b"l", b"w")], 1),
        batch([Record(0, 7, b"k", b"v"), Record(1, 7, b"l", b"v")], 1, last_offset=2),
        batch([Record(0, 7, b"k", b"v"), Record(1, 8, b"l", b"v")], 1),
    )
    theirs = _folder(tmp_path / "theirs", sound, b"\0" * 11 + b"\1")
    assert_same_log(theirs, theirs, 100, has_codecs=True)
    for number, other in enumerate(others):
        ours = _folder(tmp_path / f"{number}", other, b"\0" * 11 + b"\1")
        with pytest.raises(AssertionError):
            assert_same_log(ours, theirs, 100, has_codecs=True)
    entry = _folder(tmp_path / "entry", sound, b"\0" * 11 + b"\2")
    with pytest.raises(AssertionError):
        assert_same_log(entry, theirs, 100, has_codecs=True)
    more = Path(shutil.copytree(theirs, tmp_path / "more"))
    (more / "00000000000000000000.snapshot").touch()
    with pytest.raises(AssertionError):
        assert_same_log(more, theirs, 100, has_codecs=True)


def _folder(path: Path, log: bytes, time_index: bytes) -> Path:
    path.mkdir()
    (path / "00000000000000000000.log").write_bytes(log)
    (path / "00000000000000000000.index").write_bytes(b"")
    (path / "00000000000000000000.timeindex").write_bytes(time_index)
    return path
