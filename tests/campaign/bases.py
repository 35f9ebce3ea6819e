"""What the campaign begins with: directories that brokers of all eras wrote, a few folders of each.

A base is the name of a sample (``sample:era-3.9.1``) or of a golden case with the label of one of
its directories (``golden:4.2.0-txn/data``).
"""

import re
import shutil
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from tests.golden.cases import CASES, Case, open_case

SAMPLES: Final = Path(__file__).parents[2] / "sample_data"
MOST_FOLDERS: Final = 4
LARGEST: Final = 600_000  # bytes of a partition that is taken


class Base(NamedTuple):
    """Where a round begins.

    Attributes:
        name: the directory's, see above.
        folders: the partitions that are taken; the files beside them always are.
    """

    name: str
    folders: tuple[str, ...]

    def copy(self, cases: Path, into: Path) -> None:
        """Copy it to a folder that is not there yet.

        Args:
            cases: folder where golden cases are extracted, once each.
            into: the copy.
        """
        directory = _directory(self.name, cases)
        into.mkdir(parents=True)
        for entry in sorted(directory.iterdir()):
            if entry.is_file():
                shutil.copy2(entry, into / entry.name)
            elif entry.name in self.folders:
                shutil.copytree(entry, into / entry.name)


def _directory(name: str, cases: Path) -> Path:
    kind, _, which = name.partition(":")
    if kind == "sample":
        return SAMPLES / which
    case, _, label = which.partition("/")
    return _case(case, cases).directory(label)


def choose_base(cases: Path, rng: Random) -> Base:
    """Choose a directory and up to `MOST_FOLDERS` of its partitions."""
    while True:
        if rng.random() < 0.5:
            name = f"sample:{rng.choice(_SAMPLE_NAMES)}"
        else:
            case = _case(rng.choice(CASES).name, cases)
            if not case.labels:
                continue
            name = f"golden:{case.name}/{rng.choice(case.labels)}"
        fitting = [
            entry.name
            for entry in sorted(_directory(name, cases).iterdir())
            if entry.is_dir() and _size(entry) <= LARGEST
        ]
        if fitting:
            count = min(len(fitting), rng.randint(1, MOST_FOLDERS))
            return Base(name, tuple(sorted(rng.sample(fitting, count))))


_SAMPLE_NAMES: Final = sorted(
    path.name for path in SAMPLES.iterdir() if re.match("era|shop|damaged$", path.name)
)


def _case(name: str, cases: Path) -> Case:
    """Extract a golden case, unless it is there."""
    return Case(cases / name) if (cases / name).exists() else open_case(name, cases)


def _size(folder: Path) -> int:
    """Return the bytes that a folder's files take; their holes take none."""
    return sum(file.stat().st_blocks * 512 for file in folder.iterdir())
