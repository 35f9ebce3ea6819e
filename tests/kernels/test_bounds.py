"""No kernel reads past its input: run against a page that cannot be touched."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="protecting a page needs mprotect")


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tests.kernels.guarded_reading", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_kernel_reads_behind_its_input() -> None:
    done = run()
    assert done.returncode == 0, done.stderr


@pytest.mark.dies(signal.SIGSEGV, signal.SIGBUS)
def test_reading_behind_the_edge_would_be_noticed() -> None:
    assert run("beyond").returncode in {-signal.SIGSEGV, -signal.SIGBUS}
