"""What ``kafka.tools.DumpLogSegments`` printed about a log directory, cut into one text per file.

Two layouts: before each run of the tool a line ``==> FILE OPTIONS`` (2.8 on), or the tool's own
``Dumping FILE`` alone. A file may come twice: as records, and through a decoder.

`parse_log` reads the lines about batches and records of every version under the names of the
newest: up to 1.1 the tool prints a line for each record only, with what it says of its batch.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

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
        version: the tool's.
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


class LogLine(NamedTuple):
    """One line about a batch or a record.

    Attributes:
        kind: "batch" or "record".
        fields: by the names that 3.9 prints; numbers as int, booleans as bool, `deleteHorizonMs`
            -1 for none, `headerKeys` as a list; a timestamp as `timestampType` and `timestamp`.
    """

    kind: Literal["batch", "record"]
    fields: dict[str, Any]


_NAMES = {
    "isValid": "isvalid",
    "keysize": "keySize",
    "valuesize": "valueSize",
    "payloadsize": "valueSize",
    "compressType": "compresscodec",
    "batchSize": "size",
}
_TIMESTAMP_TYPES = frozenset({"CreateTime", "LogAppendTime", "NoTimestampType"})
_WORDS = {"true": True, "false": False, "null": None}
_HEADER_KEYS = " headerKeys: ["
_HEADERS_END = re.compile(
    r"\](?= (?:endTxnMarker|controlType|key|payload): | [A-Z][A-Za-z]+:? \{|$)"
)
_TOKEN = re.compile(r"(\w+): (\S+)")
_NUMBER = re.compile(r"-?\d+")


def _fields(text: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if _HEADER_KEYS in text:
        text, _, rest = text.partition(_HEADER_KEYS)
        end = _HEADERS_END.search(rest)
        keys, rest = (rest[: end.start()], rest[end.end() :]) if end else (rest, "")
        fields["headerKeys"] = keys.split(",") if keys else []
        if rest.startswith(" endTxnMarker"):
            text += rest
    else:
        text = re.split(" (?:key|payload): ", text, maxsplit=1)[0]
    words = text.split(" ")
    for label, value in zip(words[::2], words[1::2], strict=False):
        name = label.removesuffix(":")
        if name in _TIMESTAMP_TYPES:
            fields["timestampType"], fields["timestamp"] = name, int(value)
        elif name == "deleteHorizonMs":
            digits = _NUMBER.search(value)
            fields[name] = int(digits[0]) if digits else -1
        elif name in {"compresscodec", "compressType"}:
            codec = value.lower().removesuffix("compressioncodec")
            fields["compresscodec"] = "none" if codec == "no" else codec
        elif value[-1:].isdigit():
            fields[_NAMES.get(name, name)] = int(value)
        else:
            word = value.removesuffix("}")
            number = _NUMBER.fullmatch(word)
            fields[_NAMES.get(name, name)] = int(word) if number else _WORDS.get(word, word)
    return fields


def parse_log(section: DumpSection) -> Iterator[LogLine]:
    """Yield what the tool said about each batch and record, in the order of the file.

    What follows a newline inside a payload is skipped.
    """
    has_batches = False  # up to 1.1 it has none, and records come without the bar
    for line in section.lines:
        if line.startswith("| offset: "):
            yield LogLine("record", _fields(line[2:]))
        elif line.startswith(("baseOffset: ", "offset: ")):
            fields = _fields(line)
            if "size" in fields:
                has_batches = True
                yield LogLine("batch", fields)
            elif not has_batches:
                yield LogLine("record", fields)


def parse_entries(section: DumpSection) -> list[dict[str, Any]]:
    """Return the lines about entries of an index or a snapshot, one dict each, names as printed.

    ``None``, ``OptionalLong.empty`` become None, ``Some(5)`` and ``OptionalLong[5]`` 5.
    """
    entries = []
    for line in section.lines:
        if not re.match(r"(offset|timestamp|version|producerId): -?\d+ \w+: ", line):
            continue
        pairs = {}
        for name, value in _TOKEN.findall(line):
            digits = _NUMBER.search(value)
            pairs[name] = int(digits[0]) if digits else None
        entries.append(pairs)
    return entries
