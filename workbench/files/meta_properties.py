r"""`meta.properties`: the broker and cluster that own a log directory.

A Java properties file: `key=value` lines, `#` comments, backslash escapes, ISO-8859-1. Version 0
(ZooKeeper) may give `broker.id` and `cluster.id`; version 1 (KRaft) must give `node.id` and
`cluster.id`. Since 3.7 both may give `directory.id`. A file without `version` is version 0.

Kafka: MetaProperties, PropertiesUtils (4.0); java.util.Properties
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self
from uuid import UUID

from workbench.errors import CorruptCheckpointError
from workbench.files import text
from workbench.files.reading import KIB, FileProblem, ProblemList, SmallFile
from workbench.layout.integers import INT32_MAX

LATEST_VERSION: Final = 1

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_BLANKS: Final = " \t\f"
_ESCAPED: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.|\Z)", re.DOTALL)
_KEY: Final = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
_SPECIAL_IN_KEY: Final = re.compile(r"[\\=:#! ]|[^ -~]")
_SPECIAL_IN_VALUE: Final = re.compile(r"[\\=:#!]|[^ -~]|^ ")
_NAMED: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Property(NamedTuple):
    """A value and the byte where its line begins."""

    position: int
    value: str


@dataclass(frozen=True, slots=True)
class MetaProperties(SmallFile):
    """The owner of a log directory.

    Attributes:
        node_id: `node.id`, or `broker.id` in version 0; None if not given.
        cluster_id: None if not given. Not always a UUID.
        directory_id: None if not given.
        version: None only if the file is damaged.
        properties: everything in the file, as text, in its order.
        problems: see `reading`.
    """

    node_id: int | None = None
    cluster_id: str | None = None
    directory_id: UUID | None = None
    version: int | None = LATEST_VERSION
    properties: dict[str, str] = field(default_factory=dict)
    problems: tuple[FileProblem, ...] = ()

    corrupt_error = CorruptCheckpointError
    size_limit = 64 * KIB

    @classmethod
    def _parse(cls, data: bytes, problems: ProblemList) -> Self:
        found = parse_properties(data, problems)
        version = _version(found, problems)
        node_key = "broker.id" if version == 0 else "node.id"
        if version == LATEST_VERSION:
            for key in ("node.id", "cluster.id"):
                if key not in found:
                    problems.add("missing", len(data), f"no {key}", "one in version 1")
        cluster_id = found.get("cluster.id")
        return cls(
            node_id=_node_id(found, node_key, problems),
            cluster_id=None if cluster_id is None else cluster_id.value,
            directory_id=_directory_id(found, problems),
            version=version,
            properties={key: value for key, (_, value) in found.items()},
            problems=problems.found(),
        )

    def encode(self) -> bytes:
        """Return the properties as bytes, without the comment that holds the time of writing."""
        return "".join(
            f"{_escape(key, _SPECIAL_IN_KEY)}={_escape(value, _SPECIAL_IN_VALUE)}\n"
            for key, value in self.properties.items()
        ).encode("latin-1")


def parse_properties(data: bytes, problems: ProblemList) -> dict[str, Property]:
    """Return the properties of a Java properties file; of equal keys the last one wins."""
    properties = {}
    for position, line in _logical_lines(data.decode("latin-1")):
        match = _KEY.match(line)
        assert match is not None  # an empty key matches anything
        if "\\u" in _ESCAPED.sub(_keep_broken, line):
            found = f"line {text.quote(line)}"
            problems.add("malformed", position, found, "four hex digits after \\u")
        key, value = match[1], line[match.end() :]
        properties[_unescape(key)] = Property(position, _unescape(value))
    return properties


def _logical_lines(content: str) -> Iterator[tuple[int, str]]:
    """Yield lines that are not comments, joined with their continuations, and their first byte."""
    start: int | None = None  # first byte of a line that continues
    line = ""
    position = 0
    while position < len(content):
        end = _LINE_END.search(content, position)
        natural = content[position : end.start() if end else None].lstrip(_BLANKS)
        if start is None and natural and natural[0] not in "#!":
            start = position
        position = end.end() if end else len(content)
        if start is None:
            continue
        line += natural
        if (len(line) - len(line.rstrip("\\"))) % 2:
            line = line[:-1]
        else:
            yield start, line
            start, line = None, ""
    if start is not None:
        yield start, line


def _unescape(written: str) -> str:
    characters = _ESCAPED.sub(_character, written)
    # Two escapes make one character above U+FFFF; half of a pair cannot be printed.
    return characters.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) == 5 else _NAMED.get(code, code)


def _keep_broken(match: re.Match[str]) -> str:
    return "\\u" if match[1] == "u" else ""


def _escape(written: str, special: re.Pattern[str]) -> str:
    return special.sub(_escaped, written)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    for code, meant in _NAMED.items():
        if character == meant:
            return "\\" + code
    if " " <= character <= "~":
        return "\\" + character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex().upper()}" for at in range(0, len(units), 2))


def _version(found: dict[str, Property], problems: ProblemList) -> int | None:
    if "version" not in found:
        return 0
    position, written = found["version"]
    version = text.parse_integer(written, INT32_MAX)
    if version is None:
        problems.add("malformed", position, f"version {text.quote(written)}", "a number")
    elif not 0 <= version <= LATEST_VERSION:
        problems.add("unknown version", position, f"version {version}", "0 or 1")
    return version


def _node_id(found: dict[str, Property], key: str, problems: ProblemList) -> int | None:
    if key not in found:
        return None
    position, written = found[key]
    node_id = text.parse_integer(written, INT32_MAX)
    if node_id is None:
        problems.add("malformed", position, f"{key} {text.quote(written)}", "a number")
    return node_id


def _directory_id(found: dict[str, Property], problems: ProblemList) -> UUID | None:
    if "directory.id" not in found:
        return None
    position, written = found["directory.id"]
    directory_id = text.parse_uuid(written)
    if directory_id is None:
        wanted = "22 characters of base64"
        problems.add("bad value", position, f"directory.id {text.quote(written)}", wanted)
    return directory_id
