"""The checks of `doctor`. Each one uses what it checks, and does not only see it installed."""

import importlib
import importlib.metadata
import os
import platform
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from workbench.runtime import children
from workbench.runtime.extras import EXTRAS, install_command

Status = Literal["ok", "absent", "warning", "error"]

_OLDEST_PYTHON: Final = (3, 11)
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_INSTALL: Final = "pip install --upgrade kafka-log-workbench"


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """What one check found.

    Attributes:
        name: the subject of the check.
        status: "absent" is an extra that is not installed, which is not a fault.
        found: versions and locations.
        advice: what to do; empty if there is nothing to do.
    """

    name: str
    status: Status
    found: str
    advice: str = ""


def all_checks() -> list[Callable[[], DoctorCheck]]:
    """Return the checks in the order in which they are shown."""
    return [
        _python,
        _workbench,
        _library("numpy", "error"),
        _library("pyarrow", "error"),
        _kernels,
        _crc,
        _codecs,
        _library("pandas", "absent"),
        _library("polars", "absent"),
        _library("duckdb", "absent"),
        _library("jupyterlab", "absent"),
        _library("ipywidgets", "absent"),
        _widget,
        _library("websockets", "absent"),
        _java,
        _library("pyspark", "absent"),
        _browser,
    ]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _python() -> DoctorCheck:
    found = f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"
    if sys.version_info < _OLDEST_PYTHON:
        return DoctorCheck("Python", "error", found, "install Python 3.11 or newer")
    return DoctorCheck("Python", "ok", found)


def _workbench() -> DoctorCheck:
    import workbench

    version = _version("kafka-log-workbench")
    folder = os.path.dirname(os.path.abspath(workbench.__file__ or ""))
    if version is None:
        return DoctorCheck(
            "workbench", "warning", f"not installed, run from {folder}", "pip install -e ."
        )
    return DoctorCheck("workbench", "ok", f"{version} in {folder}")


def _library(name: str, missing: Status) -> Callable[[], DoctorCheck]:
    """Return a check that imports a library.

    Args:
        name: the name of the module and of its distribution.
        missing: the status if it is not installed; if it is broken, at least "warning".
    """
    install = install_command(name) if name in EXTRAS else _INSTALL

    def check() -> DoctorCheck:
        version = _version(name)
        if version is None:
            return DoctorCheck(name, missing, "not installed", install)
        if name == "pyspark":  # importing it takes a second and shows no more
            return DoctorCheck(name, "ok", version)
        try:
            importlib.import_module(name)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it is what is asked
            broken: Status = "warning" if missing == "absent" else missing
            return DoctorCheck(name, broken, f"{version}, but: {error}", install)
        return DoctorCheck(name, "ok", version)

    return check


def _sample_log() -> bytes:
    """Return a batch of magic 2 with one record, as a producer writes it."""
    from workbench.layout.batch_header import BATCH_HEADER_SIZE, LENGTH_END
    from workbench.record.crc import crc32c

    record = bytes.fromhex("1400000002610861626364" + "00")
    record = bytes([2 * (len(record) - 1)]) + record[1:]
    body = bytes.fromhex("0000" + "00000000" + "0000018bcfe56800" * 2 + "ff" * 14 + "00000001")
    rest = b"\x00" * 4 + b"\x02" + crc32c(body + record).to_bytes(4) + body + record
    assert LENGTH_END + len(rest) == BATCH_HEADER_SIZE + len(record)
    return bytes(8) + len(rest).to_bytes(4) + rest


def _kernels() -> DoctorCheck:
    """Read a batch, and say what reads it."""
    import tempfile

    from workbench.file_system.source import FileSource
    from workbench.kernels.dispatch import KERNELS
    from workbench.kernels.library.opening import Kernels, opened
    from workbench.record.reading.reader import RecordReader

    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(_sample_log())
    try:
        with warnings.catch_warnings(), FileSource(file.name) as source:
            warnings.simplefilter("ignore", RuntimeWarning)  # a missing library is reported below
            chunks = list(RecordReader(source))
            library = opened()
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it is what is asked
        return DoctorCheck("compiled code", "error", str(error), _INSTALL)
    finally:
        os.unlink(file.name)
    if [len(chunk.columns) for chunk in chunks] != [1]:
        return DoctorCheck("compiled code", "error", "a valid batch cannot be read", _INSTALL)
    if KERNELS == "plain":
        advice = "unset KAFKA_WORKBENCH_KERNELS"
        return DoctorCheck("compiled code", "warning", "plain Python was requested: slow", advice)
    if not isinstance(library, Kernels):
        advice = f"{_INSTALL} (there is none for musl and Intel Macs, where reading is always slow)"
        return DoctorCheck("compiled code", "warning", f"about 100 times slower: {library}", advice)
    return DoctorCheck("compiled code", "ok", f"for {library.name}")


def _crc() -> DoctorCheck:
    version = _version("crcmod")
    if version is None:
        return DoctorCheck("crcmod", "error", "not installed", _INSTALL)
    try:
        importlib.import_module("crcmod._crcfunext")
    except ImportError:
        pass
    else:
        return DoctorCheck("crcmod", "ok", f"{version}, C extension")
    advice = "install a C compiler, then: pip install --force-reinstall --no-binary crcmod crcmod"
    return DoctorCheck("crcmod", "warning", f"{version}, without its C extension: slow", advice)


def _codecs() -> DoctorCheck:
    from workbench.layout.attributes import CODEC_NAMES
    from workbench.record.codecs.compression import compress, decompress

    text = b"what goes in comes out " * 100
    broken: list[str] = []
    for codec, name in enumerate(CODEC_NAMES):
        try:
            if decompress(codec, compress(codec, text, 2), 2) != text:
                broken.append(f"{name}: decompresses to other bytes")
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it is what is asked
            broken.append(f"{name}: {error}")
    versions = {name: _version(name) for name in ("cramjam", "isal", "lz4", "zstandard")}
    found = ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())
    if broken:
        return DoctorCheck("codecs", "error", f"{found}; {'; '.join(broken)}", _INSTALL)
    slow = [name for name in ("isal", "lz4", "zstandard") if versions[name] is None]
    if slow and platform.python_implementation() == "CPython":
        return DoctorCheck("codecs", "warning", f"{found}: slower", f"pip install {' '.join(slow)}")
    return DoctorCheck("codecs", "ok", found)


def _widget() -> DoctorCheck:
    version = _version("anywidget")
    if version is None:
        return DoctorCheck("anywidget", "absent", "not installed", install_command("anywidget"))
    try:
        importlib.import_module("widgets")
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it is what is asked
        return DoctorCheck("anywidget", "warning", f"{version}, but: {error}", _INSTALL)
    return DoctorCheck("anywidget", "ok", version)


def _java() -> DoctorCheck:
    """Find the Java that Spark would run on; without Spark, none is needed."""
    from workbench.errors import MissingDependencyError
    from workbench.java_home import ensure_java

    if _version("pyspark") is None:
        return DoctorCheck("Java for Spark", "absent", "not looked for: pyspark is not installed")
    before = os.environ.get("JAVA_HOME")
    try:
        home: Any = ensure_java()
    except MissingDependencyError as error:
        return DoctorCheck("Java for Spark", "warning", "none that Spark can use", str(error))
    finally:
        os.environ.pop("JAVA_HOME", None)
        if before is not None:
            os.environ["JAVA_HOME"] = before
    return DoctorCheck(
        "Java for Spark", "ok", _first_line([os.path.join(home, "bin", "java"), "-version"])
    )


def _browser() -> DoctorCheck:
    path = next(filter(None, map(children.executable, _BROWSERS)), None)
    if path is None:
        advice = "only the browser tests need it; make system installs it"
        return DoctorCheck("Chromium", "absent", "not found", advice)
    return DoctorCheck("Chromium", "ok", f"{_first_line([path, '--version'])}, {path}")


def _first_line(command: list[str]) -> str:
    """Return the first line that a program prints, or the error if it cannot run."""
    try:
        answer = children.run(command, limit_s=30)
    except OSError as error:
        return str(error)
    lines = (answer.stdout or answer.stderr).decode("utf-8", "replace").strip().splitlines()
    return lines[0] if lines else f"{command[0]} prints nothing"
