"""What the text files of a broker share: lines, numbers, ids, checkpoints and JSON, as Java reads.

A checkpoint has its version on the first line, the number of entries on the second, then an entry
a line, its fields apart by white space. There is no checksum; the number of entries is all that
tells a cut file from a whole one, and an empty file counts as one without entries.

Kafka: CheckpointFile, Uuid (4.0)
"""

import base64
import binascii
import json
import re
from itertools import accumulate
from typing import Any, Final, NamedTuple
from uuid import UUID

from workbench.files.reading import SIZE_LIMIT, Problem, ProblemList

INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1
NO_UUID: Final = UUID(int=0)

_LINE: Final = re.compile(rb"([^\r\n]*)(\r\n|\r|\n|\Z)")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_SPACES: Final = re.compile(r"\s+", re.ASCII)
_UUID_TEXT: Final = re.compile(r"[A-Za-z0-9_-]{22}(==)?", re.ASCII)
_SHOWN: Final = 60  # characters of a line that a problem quotes
_SHORT_NUMBER: Final = 19  # digits, or more
_LONGEST_NUMBER: Final = 40  # digits; more would take int() quadratic time for nothing


class Line(NamedTuple):
    """A line of text and the byte where it begins."""

    position: int
    text: str


def split_lines(data: bytes) -> list[Line]:
    r"""Return the lines, which end in \n, \r or \r\n; bytes that are not UTF-8 become U+FFFD.

    A line end at the end of the data begins no further line.
    """
    if data.isascii() and b"\r" not in data:  # what brokers write, many times as fast
        texts = data.decode().split("\n")
        if not texts[-1]:
            texts.pop()
        positions = accumulate((len(line) + 1 for line in texts), initial=0)
        return list(map(Line, positions, texts))
    lines = []
    position = 0
    while position < len(data):
        found = _LINE.match(data, position)
        assert found is not None  # the pattern matches anywhere
        lines.append(Line(position, found[1].decode("utf-8", "replace")))
        position = found.end()
    return lines


def split_fields(line: str) -> list[str]:
    r"""Return what stands between white space, as Java's `split` with `\s+` does.

    White space before the first field makes an empty one, behind the last none.
    """
    fields = line.split(" ")
    if line.isprintable() and "" not in fields:
        return fields
    fields = _SPACES.split(line)
    while len(fields) > 1 and not fields[-1]:
        fields.pop()
    return fields


def parse_integer(text: str, largest: int) -> int | None:
    """Return a decimal number from -largest-1 to largest; None if ``text`` is none."""
    if text.isdecimal() and text.isascii() and len(text) < _SHORT_NUMBER:
        number = int(text)
        return number if number <= largest else None
    if len(text) > _LONGEST_NUMBER or _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -largest - 1 <= number <= largest else None


def quote(text: str) -> str:
    """Return the beginning of ``text`` in quotes, to show in a problem."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def parse_uuid(text: str) -> UUID | None:
    """Return the UUID that Kafka writes as 22 characters of URL-safe base64; None if it is none.

    Kafka: Uuid.fromString (4.0)
    """
    if _UUID_TEXT.fullmatch(text) is None:
        return None
    try:
        data = base64.urlsafe_b64decode(text[:22] + "==")
    except binascii.Error:
        return None
    return UUID(bytes=data)


def format_uuid(uuid: UUID) -> str:
    """Return the 22 characters that Kafka writes for a UUID."""
    return base64.urlsafe_b64encode(uuid.bytes).decode().rstrip("=")


class Row(NamedTuple):
    """The fields of one entry of a checkpoint, and the byte where its line begins."""

    position: int
    fields: list[str]


def parse_checkpoint(data: bytes, width: int) -> tuple[list[Row], ProblemList]:
    """Return the entries that have ``width`` fields, and what is wrong with the rest.

    Kafka: CheckpointFile.CheckpointReadBuffer (4.0)
    """
    problems = size_problems(data)
    lines = split_lines(data)
    if not lines:
        return [], problems
    _check_version(lines[0], problems)
    rows = []
    for position, text in lines[2:]:
        fields = split_fields(text)
        if len(fields) == width:
            rows.append(Row(position, fields))
        else:
            problems.add("malformed", position, f"line {quote(text)}", f"{width} fields")
    if len(lines) > 1:
        _check_count(lines[1], len(lines) - 2, problems)
    return rows, problems


def encode_checkpoint(rows: list[str]) -> bytes:
    """Return a checkpoint with these entries, one a line."""
    return "".join(f"{line}\n" for line in ["0", str(len(rows)), *rows]).encode()


def _check_version(line: Line, problems: ProblemList) -> None:
    version = parse_integer(line.text, INT32_MAX)
    if version is None:
        problems.add("malformed", line.position, f"line {quote(line.text)}", "a version number")
    elif version != 0:
        problems.add("unknown version", line.position, f"version {version}", "0")


def _check_count(line: Line, entries: int, problems: ProblemList) -> None:
    count = parse_integer(line.text, INT32_MAX)
    if count is None or count < 0:
        problems.add("malformed", line.position, f"line {quote(line.text)}", "a number of entries")
    elif count != entries:
        problems.add("wrong count", line.position, f"{entries} entries", f"{count}")


def size_problems(data: bytes) -> ProblemList:
    """Return a list with the problem that only the beginning was read, or an empty one."""
    problems = ProblemList()
    if len(data) > SIZE_LIMIT:
        problems.add("too large", SIZE_LIMIT, "more bytes", f"at most {SIZE_LIMIT}")
    return problems


def parse_json_object(data: bytes) -> dict[str, Any] | Problem:
    """Return the JSON object that the file holds, or what is wrong with it."""
    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        position = len(text[: error.pos].encode())
        return Problem("malformed", min(position, len(data)), quote(text), f"JSON: {error.msg}")
    except (ValueError, RecursionError):  # a number too long, brackets too deep
        return Problem("malformed", 0, quote(text), "JSON")
    if not isinstance(value, dict):
        return Problem("malformed", 0, quote(text), "a JSON object")
    return value


def json_integer(
    fields: dict[str, Any], name: str, largest: int, problems: ProblemList
) -> int | None:
    """Return a number from -largest-1 to largest out of a JSON object; None if it is not one."""
    if name not in fields:
        problems.add("missing", None, f"no {name}", "one")
        return None
    value = fields[name]
    if isinstance(value, int) and not isinstance(value, bool) and -largest - 1 <= value <= largest:
        return value
    problems.add("bad value", None, f"{name} {quote(str(value))}", f"a number up to {largest}")
    return None
