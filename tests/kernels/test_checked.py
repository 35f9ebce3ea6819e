"""Kernels that are checked: every kind of wrong access ends the call or the process."""

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "workbench" / "kernels"
CRASHES = {-signal.SIGSEGV, -signal.SIGBUS}

pytestmark = pytest.mark.skipif(os.name != "posix", reason="protecting a page needs mprotect")


def checked(*program: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", *program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "KAFKA_WORKBENCH_KERNELS": "checked"},
    )


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("index", "IndexError: index is out of bounds"),
        ("write before", "a kernel has written beside its arrays"),
        ("write to read-only", "a kernel has changed an array that is read-only"),
    ],
)
def test_a_wrong_access_raises(fault: str, error: str) -> None:
    done = checked("tests.kernels.faulty_kernels", fault)
    assert done.returncode == 1
    assert error in done.stderr


@pytest.mark.dies(*(-code for code in CRASHES))
@pytest.mark.parametrize(
    "fault", ["read after", "read after nothing", "write after", "use of freed memory"]
)
def test_a_wrong_access_ends_the_process(fault: str) -> None:
    assert checked("tests.kernels.faulty_kernels", fault).returncode in CRASHES


def test_a_right_access_does_not() -> None:
    done = checked("tests.kernels.faulty_kernels", "none")
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_product_s_kernels_pass_their_tests_checked() -> None:
    """Each kernel on sound and damaged input; `test_stress` has them on several threads."""
    files = map(str, sorted(Path(__file__).parent.glob("test_*twins.py")))
    done = checked("pytest", "-q", "-p", "no:cacheprovider", "--timeout=1500", *files)
    assert done.returncode == 0, done.stdout


def addressed() -> Iterator[tuple[str, str, set[str]]]:
    """Yield the place and name of every array whose address a kernel takes, and its arguments."""
    for file in sorted(KERNELS.rglob("*.py")):
        if "plain" in file.parts:
            continue
        tree = ast.parse(file.read_text())
        known = {name for node in tree.body for name in names_of(node)}
        for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
            arguments = {
                argument.arg
                for argument in ast.walk(function.args)
                if isinstance(argument, ast.arg)
            }
            made = {
                name
                for node in ast.walk(function)
                if node is not function
                for name in names_of(node)
            }
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "address_of":
                    name = ast.unparse(call.args[0]).split(".")[0]
                    yield f"{file.name}:{call.lineno}", name, (arguments | known) - made


def names_of(node: ast.AST) -> set[str]:
    """Return the names that a statement gives a value."""
    return (
        {
            each.id
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.For))
        else set()
    )


def test_kernels_take_addresses_of_their_arguments_alone() -> None:
    # One of its own is freed after the last use of its name, before its address is used.
    found = list(addressed())
    assert len(found) > 30
    assert [(place, name) for place, name, lasting in found if name not in lasting] == []
