"""`kafka-workbench spark` before Spark starts; `tests/spark/test_command.py` runs it."""

import sys
from pathlib import Path

import pytest

from tests.cli.program import run

SAMPLES = Path(__file__).parents[2] / "sample_data"
DAMAGED = SAMPLES / "damaged"
JOBS = (
    "topic-profile",
    "compaction-savings",
    "cluster-verify",
    "rescue-to-parquet",
    "replica-diff",
)


@pytest.mark.parametrize("name", JOBS)
def test_every_job_says_what_it_does_and_takes_the_common_options(name: str) -> None:
    shown = run("spark", name, "--help")
    assert shown.code == 0
    for option in ("--topic", "--master", "--json", "--debug"):
        assert option in shown.out


def test_what_is_not_there_is_told_before_spark_starts() -> None:
    outcome = run("spark", "topic-profile", DAMAGED, "-t", "healthi", "--master", "local[no]")
    assert outcome.code == 3
    assert outcome.err == ("kafka-workbench: unknown topic healthi; did you mean healthy?\n")
    assert run("spark", "cluster-verify", DAMAGED / "nowhere").code == 3
    assert run("spark", "rescue-to-parquet", DAMAGED).code == 3


def test_without_pyspark_one_line_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    outcome = run("spark", "topic-profile", DAMAGED)
    assert outcome.code == 3
    assert len(outcome.err.splitlines()) == 1
    assert "pip install 'kafka-log-workbench[spark]'" in outcome.err
