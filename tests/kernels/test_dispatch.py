"""What runs: the library, kernels that are checked, or the plain twins; all read the same."""

import inspect
import json
import os
import pickle
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.golden.cases import Case
from workbench.kernels import dispatch
from workbench.kernels.library.calls import call_of
from workbench.kernels.library.entries import ENTRIES, entry
from workbench.kernels.library.opening import Kernels, opened
from workbench.kernels.library.targets import LEVELS, PLACE, levels
from workbench.kernels.reading.outputs import no_outputs
from workbench.layout.batch_row import BATCH_ROW

Golden = Callable[[str], Case]

ROOT = Path(__file__).parents[2]
READ = """
import hashlib, json, sys, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import workbench
    from workbench.kernels import dispatch
    from workbench.kernels.library.opening import opened
    found = []
    for path in sys.argv[1].split(":"):
        logs = workbench.open_log_directory(path)
        table = logs.scan(columns=["offset", "timestamp", "key", "value", "headers"]).to_arrow()
        found.append([table.num_rows, logs.inspect.batches().num_rows])
        found.append(hashlib.sha256(repr(table.to_pydict()).encode()).hexdigest())
warned = [str(warning.message) for warning in caught if warning.category is RuntimeWarning]
imported = sorted({"numba", "llvmlite"} & set(sys.modules))
level = getattr(opened(), "level", None) if dispatch.KERNELS != "plain" else None
print(json.dumps([dispatch.is_compiled(), level, imported, warned, found]))
"""


def paths(golden: Golden) -> list[Path]:
    return [
        Path(golden("4.2.0-plain-librdkafka").directory("data")),
        Path(golden("k0.10.0-mixed-wrapper").directory("after")),
        Path(golden("2.8.2-txn").directory("data")),
    ]


def read(golden: Golden, root: Path = ROOT, **environment: str) -> list[Any]:
    """Read in a process of its own; return what ran, and what it read."""
    kept = {name: value for name, value in os.environ.items() if name != "KAFKA_WORKBENCH_KERNELS"}
    done = subprocess.run(
        [sys.executable, "-c", READ, ":".join(map(str, paths(golden)))],
        cwd=root if root.is_dir() else root.parent,
        env={**kept, "PYTHONPATH": str(root), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: list[Any] = json.loads(done.stdout)
    return result


def moved_package(folder: Path, *, is_built: bool = True) -> Path:
    """Copy the package to a folder, as an installation has it."""
    left_out = ["__pycache__", "jvm"] if is_built else ["__pycache__", "jvm", PLACE.name]
    ignored = shutil.ignore_patterns(*left_out)
    shutil.copytree(ROOT / "workbench", folder / "workbench", ignore=ignored)
    return folder


def test_the_plain_twins_read_the_same_and_each_level_does(golden: Golden) -> None:
    compiled = read(golden)
    plain = read(golden, KAFKA_WORKBENCH_KERNELS="plain")
    library = opened()
    assert isinstance(library, Kernels)
    assert compiled[:4] == [True, library.level, [], []]
    assert plain[:4] == [False, None, [], []]
    assert plain[4] == compiled[4]
    for number, level in levels().items():
        if number < library.level:
            lower = read(golden, KAFKA_WORKBENCH_KERNELS=level.cpu)
            assert lower == [True, number, [], [], compiled[4]]


def test_where_there_is_no_library_reading_is_slower_and_says_so(
    golden: Golden, tmp_path: Path
) -> None:
    found = read(golden, moved_package(tmp_path, is_built=False))
    assert found[:3] == [False, None, []]
    assert len(found[3]) >= 1
    assert "about 100 times slower" in found[3][0]
    assert found[3][0].endswith("kernels.library is not there")
    assert found[4] == read(golden)[4]


def test_a_package_that_moves_takes_its_library_along(golden: Golden, tmp_path: Path) -> None:
    assert read(golden, moved_package(tmp_path)) == read(golden)


def test_a_package_in_a_zip_file_has_its_library(golden: Golden, tmp_path: Path) -> None:
    """As of `spark-submit --py-files`; what it is opened from is gone afterwards."""
    moved_package(tmp_path / "package")
    archive = tmp_path / "workbench.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted((tmp_path / "package").rglob("*")):
            file.write(path, path.relative_to(tmp_path / "package"))
    shutil.rmtree(tmp_path / "package")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert read(golden, archive, TMPDIR=str(temporary)) == read(golden)
    assert list(temporary.iterdir()) == []


def test_a_library_of_other_texts_is_refused(tmp_path: Path) -> None:
    moved_package(tmp_path)
    (tmp_path / "setup.py").touch()  # a checkout
    program = "from workbench.kernels import dispatch; dispatch.crc32c"
    words = [sys.executable, "-c", program]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "KAFKA_WORKBENCH_KERNELS": ""}
    subprocess.run(words, check=True, env=environment, cwd=tmp_path)
    text = tmp_path / "workbench" / "layout" / "batch_header.py"
    text.write_text(text.read_text() + "\n")
    done = subprocess.run(
        words, check=False, env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert (
        "StaleLibraryError: workbench/layout/batch_header.py has changed since the kernels were "
        "compiled: run make env" in done.stderr
    )


def test_nothing_of_the_working_directory_is_run(golden: Golden, tmp_path: Path) -> None:
    """A stranger's copy of a disk can hold anything, by any name."""
    for name in (PLACE.name, f"workbench/kernels/library/{PLACE.name}", "kernels-reading/x.nbi"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"not a library")
    program = f"import os; os.chdir({str(tmp_path)!r})\n{READ}"
    environment = {**os.environ, "XDG_CACHE_HOME": "", "KAFKA_WORKBENCH_KERNELS": ""}
    words = [sys.executable, "-c", program, str(paths(golden)[0])]
    done = subprocess.run(words, check=True, env=environment, capture_output=True, text=True)
    assert json.loads(done.stdout)[:4] == read(golden)[:4]


def test_the_level_is_what_the_processor_has() -> None:
    library = opened()
    assert isinstance(library, Kernels)
    assert library.level in levels()
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if levels() is LEVELS["x86_64"]:
        assert library.level == (3 if {"avx2", "bmi2", "fma"} <= set(flags.split()) else 2)


# --- the table ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_its_kernel_and_its_twin_take_the_same(name: str) -> None:
    of = entry(name)
    wanted = [each.name for each in of.arguments]
    kernel = getattr(import_module(f"workbench.kernels.{of.module}"), name)
    assert list(inspect.signature(kernel.py_func).parameters) == wanted
    if not of.module.startswith("codecs."):  # those of the codecs' libraries are their twins
        twin = getattr(import_module(f"workbench.kernels.plain.{of.module}"), name)
        assert list(inspect.signature(twin).parameters) == wanted


def library() -> Kernels:
    found = opened()
    assert isinstance(found, Kernels)
    return found


def test_an_array_that_does_not_fit_is_refused_before_the_call() -> None:
    data, rows = np.zeros(64, np.uint8), np.zeros(4, BATCH_ROW)
    scan = call_of(library(), "scan_window")
    assert scan(data, 0, 0, rows) == (0, 0, 0)
    assert scan(data, np.int64(0), np.int32(0), rows) == (0, 0, 0)
    frozen = rows.copy()
    frozen.setflags(write=False)
    unaligned = np.zeros(17, np.uint8)[1:].view(np.int64)
    for arguments, problem in (
        ((bytes(64), 0, 0, rows), "scan_window: data is bytes"),
        ((data.astype(np.int64), 0, 0, rows), "data: found int64 in 1 dimensions"),
        ((data.reshape(8, 8), 0, 0, rows), "data: found uint8 in 2 dimensions"),
        ((data[::2], 0, 0, rows), "data is not contiguous and aligned"),
        ((data, 0, 0, rows[::2]), "rows is not contiguous and aligned"),
        ((data, 0, 0, frozen), "rows is read-only, and is written to"),
    ):
        with pytest.raises(TypeError, match=problem):
            scan(*arguments)
    with pytest.raises(TypeError, match="found is not contiguous and aligned"):
        call_of(library(), "find_keys")(
            data, np.zeros(2, dict_of("places")), 2, 0, np.zeros(3, np.int64), 0, 0, data, 0,
            unaligned,
        )  # fmt: skip
    check = call_of(library(), "check_crcs")
    with pytest.raises(ValueError, match="matches is too short: found 3 in dimension 1"):
        check(data, 0, rows, np.zeros(3, np.bool_))
    with pytest.raises(ValueError, match="spans is too short: found 3 in dimension 2, expected 2"):
        call_of(library(), "decode_records")(
            data, np.zeros((1, 3), np.int64), rows, 0, 0, 0, no_outputs()
        )
    with pytest.raises(TypeError, match="offsets of outputs: found int32"):
        no_outputs()._replace(offsets=np.zeros(1, np.int32)).address  # noqa: B018


def dict_of(name: str) -> "np.dtype[Any]":
    (found,) = (each.dtype for each in entry("find_keys").arguments if each.name == name)
    assert found is not None
    return found


def test_a_type_that_only_equals_the_declared_one_is_taken() -> None:
    rows = np.zeros(1, pickle.loads(pickle.dumps(BATCH_ROW)))  # noqa: S301 - our own
    assert rows.dtype is not BATCH_ROW
    assert call_of(library(), "scan_window")(np.zeros(8, np.uint8), 0, 0, rows) == (0, 0, 0)


@pytest.mark.parametrize("name", ["scan_everything", "numba"])
def test_an_unknown_kernel_is_no_attribute(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(dispatch, name)


def test_the_library_needs_functions_of_the_system_alone() -> None:
    """Python's and numba's, with which wrappers raise and allocate, are not among them."""
    data = PLACE.read_bytes()
    assert b"pread" in data
    for word in (b"PyErr_", b"PyGILState_", b"numba_do_raise", b"NRT_MemInfo"):
        assert word not in data
