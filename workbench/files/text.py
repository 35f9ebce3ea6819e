"""Parse text files of a broker as Java does: lines, numbers, ids, checkpoints and JSON.

A checkpoint has its version on the first line, the number of entries on the second, then one entry
per line, with fields separated by white space. There is no checksum; only the number of entries
distinguishes an incomplete file from a complete one, and an empty file has no entries.

Kafka: CheckpointFile, Uuid (4.0)
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final, NamedTuple
from uuid import UUID

from workbench.files.reading import MIB, ProblemList
from workbench.layout.integers import INT32_MAX

NO_UUID: Final = UUID(int=0)

CHECKPOINT_LIMIT: Final = 16 * MIB  # 400,000 partitions with names of 30 characters

_LINE: Final = re.compile(rb"([^\r\n]*)(\r\n|\r|\n|\Z)")
JAVA_NUMBER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_SPACES: Final = re.compile(r"\s+", re.ASCII)
_UUID_TEXT: Final = re.compile(r"[A-Za-z0-9_-]{22}(==)?", re.ASCII)
_SHOWN: Final = 60  # characters of a line that a problem quotes
_GIVE_UP: Final = 1000  # lines
_SHORT_NUMBER: Final = 19  # digits, or more
_LONGEST_NUMBER: Final = 40  # digits; more would take int() quadratic time for nothing


class Line(NamedTuple):
    """A line of text and the byte where it begins."""

    position: int
    text: str


def split_lines(data: bytes) -> Iterator[Line]:
    r"""Yield the lines, which end in \n, \r or \r\n; bytes that are not UTF-8 become U+FFFD.

    A line end at the end of the data does not begin another line.
    """
    position = 0
    if data.isascii() and b"\r" not in data:  # what brokers write, many times as fast
        for line in BytesIO(data):
            yield Line(position, line.decode().removesuffix("\n"))
            position += len(line)
        return
    while position < len(data):
        found = _LINE.match(data, position)
        assert found is not None  # the pattern matches anywhere
        yield Line(position, found[1].decode("utf-8", "replace"))
        position = found.end()


def split_fields(line: str) -> list[str]:
    r"""Return the fields between white space, as Java's `split` with `\s+` does.

    White space before the first field makes an empty one, white space after the last does not.
    """
    fields = line.split(" ")
    if line.isprintable() and "" not in fields:
        return fields
    fields = _SPACES.split(line)
    while len(fields) > 1 and not fields[-1]:
        fields.pop()
    return fields


def parse_integer(text: str, largest: int) -> int | None:
    """Return a decimal number from -largest-1 to largest; None if ``text`` is not one."""
    if text.isdecimal() and text.isascii() and len(text) < _SHORT_NUMBER:
        number = int(text)
        return number if number <= largest else None
    if len(text) > _LONGEST_NUMBER or JAVA_NUMBER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -largest - 1 <= number <= largest else None


def quote(text: str) -> str:
    """Return the beginning of ``text`` in quotes, to show in a problem."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def parse_uuid(text: str) -> UUID | None:
    """Return the UUID that Kafka writes as 22 characters of URL-safe base64; None if invalid.

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


def parse_checkpoint(data: bytes, width: int, problems: ProblemList) -> Iterator[Row]:
    """Yield the entries that have ``width`` fields; add what is wrong to ``problems``.

    Stops after a thousand lines that are not entries; a broker stops at the first.

    Kafka: CheckpointFile.CheckpointReadBuffer (4.0)
    """
    lines = split_lines(data)
    first, second = next(lines, None), next(lines, None)
    if first is not None:
        _check_version(first, problems)
    count = malformed = 0
    for position, text in lines:
        count += 1
        fields = split_fields(text)
        if len(fields) == width:
            yield Row(position, fields)
            continue
        problems.add("malformed", position, f"line {quote(text)}", f"{width} fields")
        malformed += 1
        if malformed == _GIVE_UP:
            return
    if second is not None:
        _check_count(second, count, problems)


def encode_checkpoint(rows: list[str]) -> bytes:
    """Return a checkpoint with these entries, one per line."""
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


def parse_json_object(
    data: bytes, problems: ProblemList, *, whole: bool = True
) -> dict[str, Any] | None:
    """Return the JSON object in the file; None, and a problem, if there is none.

    Args:
        data: the file's bytes.
        problems: those found before.
        whole: whether the object must end where the file does; otherwise what follows is ignored.
    """
    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text) if whole else json.JSONDecoder().raw_decode(text.lstrip())[0]
    except json.JSONDecodeError as error:
        position = min(len(text[: error.pos].encode()), len(data))
        problems.add("malformed", position, quote(text), f"JSON: {error.msg}")
        return None
    except (ValueError, RecursionError):  # a number too long, brackets too deep
        problems.add("malformed", 0, quote(text), "JSON")
        return None
    if isinstance(value, dict):
        return value
    problems.add("malformed", 0, quote(text), "a JSON object")
    return None


def json_integer(
    fields: dict[str, Any], name: str, largest: int, problems: ProblemList
) -> int | None:
    """Return a number from -largest-1 to largest in a JSON object; None if it is not one."""
    if name not in fields:
        problems.add("missing", None, f"no {name}", "one")
        return None
    value = fields[name]
    if isinstance(value, int) and not isinstance(value, bool) and -largest - 1 <= value <= largest:
        return value
    problems.add("bad value", None, f"{name} {quote(str(value))}", f"a number up to {largest}")
    return None
