"""What ``kafka.tools.DumpLogSegments`` printed about a log directory, cut into one text per file.

Two layouts: before each run of the tool a line ``==> FILE OPTIONS`` (2.8 on), or the tool's own
``Dumping FILE`` alone. A file may come twice: as records, and through a decoder.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_MARKED = re.compile(r"^==> (\S+) ?(.*)\n", re.MULTILINE)
_DUMPING = re.compile(r"^Dumping (\S+-\d+(?:\.[0-9a-f]+-\w+)?/\S+?\.\w+)()\n", re.MULTILINE)


@dataclass(frozen=True)
class DumpSection:
    """What one run of the tool said about one file.

    Attributes:
        file: path below the log directory, ``orders-0/00000000000000000000.log``.
        options: as given to the tool, ``--deep-iteration --print-data-log``; empty if not stored.
        text: all it printed, standard error included, without the marker line.
    """

    file: str
    options: str
    text: str

    @property
    def lines(self) -> list[str]:
        """The lines, cut at newlines only: payloads may hold other line ends of Unicode."""
        return self.text.removesuffix("\n").split("\n")


class Dump:
    """The stored text of one log directory by one version of the tool; parsed when first asked.

    Payloads are printed as UTF-8 text, so binary ones are lossy, and one that holds a newline
    spreads over lines.

    Args:
        path: the stored text.
        version: of the tool.
        prefix: only files below this one count, and their names are given without it.
    """

    def __init__(self, path: Path, version: str, *, prefix: str = "") -> None:
        self.path = path
        self.version = version
        self._prefix = prefix

    @cached_property
    def text(self) -> str:
        """The whole text."""
        return self.path.read_bytes().decode("utf-8", "replace")

    @cached_property
    def sections(self) -> tuple[DumpSection, ...]:
        """All sections in the order of the text, that is of the paths."""
        text = self.text
        marks = list((_MARKED if text.startswith("==> ") else _DUMPING).finditer(text))
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        return tuple(
            DumpSection(mark[1].removeprefix(self._prefix), mark[2], text[mark.end() : end])
            for mark, end in zip(marks, ends, strict=True)
            if mark[1].startswith(self._prefix)
        )

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The dumped files, each once."""
        return tuple(dict.fromkeys(section.file for section in self.sections))

    def of(self, file: str) -> tuple[DumpSection, ...]:
        """Return the sections about one file, ``orders-0/00000000000000000000.log``."""
        return tuple(section for section in self.sections if section.file == file)
