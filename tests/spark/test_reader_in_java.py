"""Run tests in a process whose session has the reader in Java: a JVM takes jars when it starts.

They are those of `reader_in_java`, and those of the Python source that say what a user sees.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import workbench as wb
from tests.spark import connector
from tests.spark.conftest import IN_JAVA

PROJECT = Path(__file__).parents[2]
SOURCE = "tests/spark/test_source.py"
STREAMING = "tests/spark/test_streaming.py"
TESTS = (
    "tests/spark/reader_in_java.py",
    "tests/spark/test_every_road.py",
    f"{STREAMING}::test_a_stream_goes_on_where_its_checkpoint_ends",
)
TESTS_OF_THE_SOURCE = (
    SOURCE,
    f"{STREAMING}::test_a_query_ends_where_its_topic_was_made_again_unless_it_is_told_to_go_on",
)
AGAINST_KAFKA = "tests/spark/test_against_kafka.py"
ONLY_PYTHON = (
    f"{SOURCE}::test_every_golden_case_gives_the_rows_of_a_scan",
    f"{SOURCE}::test_a_worker_that_has_read_spares_its_modules_the_collection_after_each_task",
)
"""They need the Python source: for damage, and for workers that have read."""


pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(2400)]


def run_in_java(tests: Iterable[str]) -> None:
    """Run tests in a process whose session has the reader in Java."""
    assert wb.spark.reader_jar() is not None, "make jar"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *(f"--deselect={name}" for name in ONLY_PYTHON),
            *tests,
        ],
        cwd=PROJECT,
        env={**os.environ, IN_JAVA: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    assert " passed" in done.stdout


def test_the_reader_in_java() -> None:
    run_in_java(TESTS)


@pytest.mark.long
def test_what_is_asked_of_the_source_in_python_is_true_of_the_reader_in_java() -> None:
    more = [AGAINST_KAFKA] if connector.is_to_be_had() else []
    run_in_java([*TESTS_OF_THE_SOURCE, *more])
