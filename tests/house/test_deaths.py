"""A test fails whose process dies by a signal: of a run of pytest on small tests of their own."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]

SOUND: Final = """
def test_ends():
    run("print(1)")

def test_ends_with_a_status():
    run("raise SystemExit(3)")

@pytest.mark.dies(signal.SIGABRT)
def test_is_to_crash():
    run(CRASH)

def test_is_killed_by_the_test():
    child = subprocess.Popen(["sleep", "60"])
    child.kill()
    child.wait()

def test_its_group_is_ended_by_the_test():
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    os.killpg(child.pid, signal.SIGTERM)
    child.wait()
"""
DYING: Final = """
def test_crashes():
    run(CRASH)

@pytest.mark.dies(signal.SIGSEGV)
def test_crashes_otherwise():
    run(CRASH)

def test_crashes_after_another_signal():
    child = subprocess.Popen([sys.executable, "-c", "input();" + CRASH], stdin=subprocess.PIPE)
    child.send_signal(0)
    child.communicate(b"1")

def test_is_killed_by_another_process():
    run("import os; os.kill(os.getpid(), 9)")

def test_a_process_of_its_process_crashes():
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CRASH!r}])"
    subprocess.run([sys.executable, "-c", program])
"""
HEAD: Final = """
import os, signal, subprocess, sys
import pytest

CRASH = "import os; os.abort()"

def run(program):
    subprocess.run([sys.executable, "-c", program], capture_output=True)
"""


def names(tests: str) -> set[str]:
    return set(re.findall(r"def (test_\w+)", tests))


def test_a_process_that_dies_fails_its_test(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(HEAD + SOUND + DYING)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    options = [f"--rootdir={ROOT}", f"--config-file={ROOT / 'pyproject.toml'}", "-rA", "-q"]
    done = subprocess.run(
        [*command, *options, str(file)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    failed = set(re.findall(r"^(?:ERROR|FAILED) .*::(test_\w+)", done.stdout, re.MULTILINE))
    passed = set(re.findall(r"^PASSED .*::(test_\w+)", done.stdout, re.MULTILINE))
    assert failed == names(DYING), done.stdout
    assert passed - failed == names(SOUND)
    assert done.returncode == 1
