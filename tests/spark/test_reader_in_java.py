"""Run `reader_in_java` in a process of its own: a JVM takes jars only when it starts."""

import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_the_reader_in_java() -> None:
    assert wb.spark.reader_jar() is not None, "make jar"
    program = Path(__file__).with_name("reader_in_java.py")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(program)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20_000:]
    assert " passed" in done.stdout
