"""Commands as people run them, each in a process of its own, and what holds of every one."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from tests.campaign.frames import ROOT

READING: Final[tuple[tuple[str, ...], ...]] = (
    ("ls", "LOGS", "--records", "--json"),
    ("describe", "LOGS", "--json"),
    ("dump", "LOGS", "--json", "--control"),
    ("dump", "LOGS", "--batches", "--json"),
    ("search", "a", "LOGS", "--json"),
    ("sql", "LOGS", "select * from record_counts", "--json"),
    ("sql", "LOGS", 'select topic, "offset", key from records', "--format", "csv"),
    ("export", "LOGS", "--to", "-", "--format", "csv"),
    ("verify", "LOGS", "--json"),
    ("predict", "LOGS", "--now", "2027-01-01", "--json"),
    ("preflight", "LOGS", "--now", "2027-01-01", "--json"),
    ("stuck", "LOGS", "--now", "2027-01-01", "--json"),
    ("explain", "LOGS", "--now", "2027-01-01", "--json"),
    ("plan", "LOGS", "--set", "cleanup.policy=compact", "--now", "2027-01-01", "--json"),
    ("what-if", "LOGS", "--set", "retention.ms=1", "--now", "2027-01-01", "--json"),
    ("cluster", "LOGS", "--json"),
    ("groups", "LOGS", "--json"),
    ("offsets", "LOGS", "--json"),
    ("transactions", "LOGS", "--json"),
    ("repairs", "LOGS", "--json"),
    ("compare-replicas", "1=LOGS", "2=LOGS", "--json"),
)  # fmt: skip
"""Commands that only print; LOGS is the directory."""

WRITING: Final[tuple[tuple[str, ...], ...]] = (
    ("export", "LOGS", "--to", "OUT/records.parquet"),
    ("export", "LOGS", "--to", "OUT/records.csv"),
    ("export", "LOGS", "--to", "OUT/records.jsonl", "--overwrite"),
    ("sql", "LOGS", "select * from segments", "--to", "OUT/records.parquet"),
    ("sql", "LOGS", "select * from segments", "--to", "OUT/records.csv", "--overwrite"),
    ("report", "LOGS", "-o", "OUT/report.html"),
    ("recover", "LOGS", "--to", "OUT/copy"),
    ("retention", "LOGS", "--to", "OUT/copy", "--now", "2027-01-01"),
    ("compact", "LOGS", "--to", "OUT/copy", "--set", "cleanup.policy=compact", "--now",
     "2027-01-01"),
    ("to-table", "LOGS", "--to", "OUT/lake"),
    ("to-table", "LOGS", "--to", "OUT/lake", "--table-format", "delta"),
    ("to-table", "LOGS", "--to", "OUT/lake/{topic}", "--upsert"),
)  # fmt: skip
"""Commands that write below OUT."""

HANGS_AFTER_S: Final = 300
MOST: Final = 900 << 20  # bytes of memory of a process
_ESCAPES: Final = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
_BAD: Final = ("a bug in kafka-workbench", "Traceback (most", "Fatal Python", "Exception ignored")
_CODES: Final = range(4)
REFUSED: Final = 3

Meddled = tuple[int, str, int]


class CommandFaultError(AssertionError):
    """A command crashed, hung, took too much memory, or wrote what and where it must not."""


class Ended(NamedTuple):
    """How a command ended.

    Attributes:
        words: of the command.
        code: its exit code.
        out, err: what it printed.
        moments: how many system calls a meddler can meddle at.
        memory: bytes at the most.
    """

    words: tuple[str, ...]
    code: int
    out: bytes
    err: str
    moments: int
    memory: int

    def fault(self, about: str) -> CommandFaultError:
        """Return the error that says what it did."""
        text = f"{about} of {' '.join(self.words)}: exit code {self.code}: {self.err[-700:]!r}"
        return CommandFaultError(text)


class Place(NamedTuple):
    """Where a command runs.

    Attributes:
        folder: of everything that its words name.
        logs: the directory that it reads.
        outer: the folder that it writes into.
    """

    folder: Path
    logs: Path
    outer: Path

    def words(self, command: Sequence[str]) -> list[str]:
        """Return a command's words, with the names of this place."""
        return [
            word.replace("LOGS", str(self.logs)).replace("OUT", str(self.outer)) for word in command
        ]


class Runner:
    """Runs commands in forks of one process, which has imported what they need."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.campaign.meddled"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(
        self, command: Sequence[str], place: Place, meddled: Meddled = (-1, "", 0), out: str = ""
    ) -> Ended:
        """Run a command and hold what is so of every one.

        Args:
            command: its words, where `LOGS` and `OUT` are names of the place.
            place: see there.
            meddled: moment, meddler and seed; see `tests.campaign.meddled`.
            out: a file for stdout that is there.

        Raises:
            CommandFaultError: see there.
        """
        spec, err = _spec(place, meddled), str(place.folder / "err")
        asked = {
            "spec": spec, "words": place.words(command), "folder": str(place.folder),
            "out": out or str(place.folder / "printed"), "err": err, "seconds": HANGS_AFTER_S,
        }  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        printed = b"" if out else (place.folder / "printed").read_bytes()
        return _held(command, place, code, printed, Path(err).read_bytes())


def run_alone(
    command: Sequence[str],
    place: Place,
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
) -> Ended:
    """Run a command in a new process and hold what is so of every one.

    Args:
        command, place: see `Runner.run`.
        environment: what is added to this process's.
        before: a program that runs the command, and its arguments.

    Raises:
        CommandFaultError: see there.
    """
    words = [json.dumps(_spec(place, (-1, "", 0))), *place.words(command)]
    try:
        done = subprocess.run(
            [*before, sys.executable, "-m", "tests.campaign.meddled", *words],
            cwd=place.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
            timeout=HANGS_AFTER_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CommandFaultError(f"{' '.join(command)} hangs") from error
    return _held(command, place, done.returncode, done.stdout, done.stderr)


def _spec(place: Place, meddled: Meddled) -> dict[str, Any]:
    at, meddler, seed = meddled
    report = place.folder / "report"
    report.unlink(missing_ok=True)
    return {
        "at": at, "meddler": meddler, "seed": seed, "report": str(report),
        "logs": str(place.logs), "outer": str(place.outer),
    }  # fmt: skip


def _held(command: Sequence[str], place: Place, code: int, out: bytes, told: bytes) -> Ended:
    report = place.folder / "report"
    moments, memory = json.loads(report.read_text()) if report.exists() else (0, 0)
    err = told.decode(errors="replace").replace(str(place.folder), "")
    ended = Ended(tuple(command), code, out, err, moments, memory)
    if code not in _CODES or any(each in err for each in _BAD):
        raise ended.fault("the end")
    if code == REFUSED and not err.strip():
        raise ended.fault("no reason")
    for printed in (out, told):
        if raw := _ESCAPES.search(printed):
            raise ended.fault(f"the raw {raw[0]!r}")
    if memory > MOST:
        raise ended.fault(f"{memory >> 20} MiB")
    return ended


def content(folder: Path) -> dict[str, Any]:
    """Return what is at each path below a folder: a link's target, a file's bytes."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path.relative_to(folder))] = os.readlink(path)
        elif path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
        else:
            found[str(path.relative_to(folder))] = None
    return found


def unfinished(folder: Path) -> list[str]:
    """Return the names of what a command began to write and left."""
    return [path.name for path in folder.rglob("*") if path.name.endswith(".unfinished")]
