"""Run cases through Kafka's cleaner, in one process for all, and through ours.

By hand, for thousands: ``python -m tests.cleaner_jvm.campaign FIRST COUNT`` (seeds).
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.cleaner_jvm.judge import assert_same_log
from tests.cleaner_jvm.logs import Case
from tests.engine_jvm.engine_sequence import Sequence
from tests.engine_jvm.kafka_restart import KAFKA
from tests.kafka_broker import compile_java, java_command

ENDED: Final = re.compile(r"\d+ (clean|open) error (?!LogCleaningAborted)")
SIZES: Final = re.compile(r"(?<=\d):\d+| \d+(?= invalid)")
ERROR: Final = re.compile(r"error \w+")
AT_ONCE: Final = 400
SOURCE: Final = Path(__file__).parents[1] / "engine_jvm" / "Sequence.java"


class Cleanings(Sequence):
    """Our side of a case.

    Args:
        case: the case.
        directory: the partition's, with the segments of the case.
        theirs: where Kafka's has its own, and what was kept of it.
    """

    def __init__(self, case: Case, directory: Path, theirs: Path) -> None:
        super().__init__(directory)
        self._case = case
        self._theirs = theirs
        self._kept = 0

    def _keep(self) -> None:
        """Hold our files against those that Kafka had at this moment; take them over."""
        kept = self._theirs / f"kept-{self._kept}"
        self._kept += 1
        has_codecs = self._case.has_codecs
        interval = self.config.index_interval_bytes
        assert_same_log(self.directory, kept, interval, has_codecs=has_codecs)
        if has_codecs:  # compressed batches have other sizes, by which segments are grouped
            shutil.rmtree(self.directory)
            shutil.copytree(kept, self.directory)


def clean_by_kafka(cases: Iterable[Case], into: Path) -> None:
    """Let Kafka run cases; of each there is a folder with its seed's name afterwards."""
    arguments = []
    for case in cases:
        folder = into / f"{case.seed}"
        case.write_to(folder / "kafka" / "t-0")
        script = folder / "script"
        script.write_text("".join(f"{line}\n" for line in case.script))
        arguments += [str(script), str(folder / "kafka" / "t-0")]
    classes = compile_java(KAFKA, SOURCE.read_text(), "Sequence")
    command = java_command(KAFKA, "Sequence", *arguments, classes=classes)
    command.insert(1, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
    subprocess.run(command, check=True, capture_output=True)


def assert_same_cleanings(case: Case, into: Path) -> list[str]:
    """Run a case that Kafka has run, and compare step by step; return what was printed."""
    folder = into / f"{case.seed}"
    theirs = iter((folder / "script.kafka").read_text().splitlines())
    case.write_to(folder / "ours" / "t-0")
    ours = Cleanings(case, folder / "ours" / "t-0", folder / "kafka")
    told = []
    for number, line in enumerate(case.script):
        for mine in ours.step(number, line):
            its = next(theirs)
            assert _comparable(mine, case) == _comparable(its, case), (
                f"{case.seed}: {line}: {mine} | {its}"
            )
            told.append(its)
            if ENDED.match(its):
                return told
    return told


def _comparable(printed: str, case: Case) -> str:
    """Return a line without what compressors may do otherwise, and how damage is called."""
    if case.is_damaged:
        printed = ERROR.sub("error", printed)
    if not case.has_codecs:
        return printed
    return "" if ".log:" in printed else SIZES.sub("", printed)


def main(first: int, count: int) -> None:
    """Run many cases and print which differ."""
    failures = 0
    for start in range(first, first + count, AT_ONCE):
        cases = [Case(seed) for seed in range(start, min(start + AT_ONCE, first + count))]
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            clean_by_kafka(cases, Path(folder))
            for case in cases:
                try:
                    assert_same_cleanings(case, Path(folder))
                except Exception as error:  # noqa: BLE001 - told, and the next one is tried
                    failures += 1
                    print(f"{case.seed}: {type(error).__name__}: {str(error)[:3000]}")  # noqa: T201
        print(f"{start + len(cases) - first} cases, {failures} differ", flush=True)  # noqa: T201
    sys.exit(bool(failures))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
