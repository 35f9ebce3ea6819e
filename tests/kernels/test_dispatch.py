"""Reading without compiled kernels: the plain twins take their place and read the same."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.cases import Case
from workbench.kernels import dispatch

Golden = Callable[[str], Case]

ROOT = Path(__file__).parents[2]
READ = """
import hashlib, json, sys, warnings
import workbench
from workbench.kernels import dispatch
if "without" in sys.argv:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dispatch.crc32c
    warned = [str(warning.message) for warning in caught]
else:
    warned = []
found = []
for path in sys.argv[1].split(":"):
    logs = workbench.open_log_directory(path)
    table = logs.scan(columns=["offset", "timestamp", "key", "value", "headers"]).to_arrow()
    found.append([table.num_rows, logs.inspect.batches().num_rows])
    found.append(hashlib.sha256(repr(table.to_pydict()).encode()).hexdigest())
print(json.dumps([dispatch.COMPILED, "numba" in sys.modules, warned, found]))
"""
HIDE = """
import importlib.util, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "numba" else real(name, *rest)
"""


def read(golden: Golden, program: str, *arguments: str, **environment: str) -> list[object]:
    paths = [
        golden("4.2.0-plain-librdkafka").directory("data"),
        golden("k0.10.0-mixed-wrapper").directory("after"),
        golden("2.8.2-txn").directory("data"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", program, ":".join(map(str, paths)), *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: list[object] = json.loads(done.stdout)
    return result


def test_the_plain_twins_read_the_same(golden: Golden) -> None:
    compiled = read(golden, READ)
    plain = read(golden, READ, KAFKA_WORKBENCH_KERNELS="plain")
    assert compiled[:2] == [True, True]
    assert plain[:2] == [False, False]
    assert plain[3] == compiled[3]


def test_without_numba_reading_is_slower_and_says_so(golden: Golden) -> None:
    found = read(golden, HIDE + READ, "without")
    assert found[:2] == [False, False]
    assert "numba is not installed" in str(found[2])
    assert found[3] == read(golden, READ)[3]


def test_listing_needs_no_compiled_code(golden: Golden) -> None:
    """The first look into a directory does not wait for numba."""
    program = (
        "import sys, workbench\n"
        "logs = workbench.open_log_directory(sys.argv[1].split(':')[0])\n"
        "rows = logs.inspect.segments().num_rows\n"
        "import json; print(json.dumps(['numba' in sys.modules, rows]))"
    )
    imported, rows = read(golden, program)
    assert imported is False
    assert rows


@pytest.mark.parametrize("name", ["scan_everything", "numba"])
def test_an_unknown_kernel_is_no_attribute(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(dispatch, name)
