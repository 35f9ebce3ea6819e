"""Records as a format string with the letters of kcat says: `WORDS` has them."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from workbench.cli.show.value_text import plain_text
from workbench.record.columns import RecordColumns

Where = tuple[str, int]
"""Topic and number of a partition."""

WORDS: Final = {
    "t": "topic",
    "p": "partition",
    "o": "offset",
    "T": "timestamp in ms (-1: none)",
    "k": "key",
    "K": "bytes of the key (-1: null)",
    "s": "value",
    "S": "bytes of the value (-1: null)",
    "h": "headers, as name=value,…",
    "%": "a percent sign",
}
"""Letters after a percent sign."""

_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}
_TOKEN: Final = re.compile(r"%(.?)|\\(x[0-9A-Fa-f]{2}|.?)|[^%\\]+", re.DOTALL)

Write = Callable[[RecordColumns, int, Where], bytes]


def line_format(text: str, *, is_safe: bool) -> Write:
    """Return what makes the bytes of a record.

    Args:
        text: the format string.
        is_safe: whether keys, values and headers are made text that cannot control a terminal;
            otherwise their bytes are exact. A null is empty.

    Raises:
        ValueError: a letter is unknown.
    """
    parts = list(_parts(text, is_safe=is_safe))

    def write(columns: RecordColumns, at: int, where: Where) -> bytes:
        return b"".join(part(columns, at, where) for part in parts)

    return write


def _parts(text: str, *, is_safe: bool) -> Iterator[Write]:
    for token in _TOKEN.finditer(text):
        letter, escape = token[1], token[2]
        if letter is not None:
            if letter not in WORDS:
                known = ", ".join(f"%{each} {meaning}" for each, meaning in WORDS.items())
                raise ValueError(f"{text!r}: unknown %{letter} (expected one of {known})")
            yield _word(letter, is_safe=is_safe)
        elif escape is not None:
            if not escape.startswith("x") and escape not in _ESCAPES:
                raise ValueError(rf"{text!r}: unknown \{escape} (expected \n, \r, \t, \\ or \x00)")
            is_hex = escape.startswith("x")
            yield _fixed(bytes.fromhex(escape[1:]) if is_hex else _ESCAPES[escape].encode())
        else:
            yield _fixed(token[0].encode())


def _fixed(content: bytes) -> Write:
    return lambda _columns, _at, _where: content


def _word(letter: str, *, is_safe: bool) -> Write:
    """Return what makes one word of a record."""

    def shown(content: bytes | None) -> bytes:
        if not content:
            return b""
        return plain_text(content).encode() if is_safe else content

    def value(columns: RecordColumns, at: int) -> bytes | None:
        assert columns.values is not None
        return columns.values.item(at)

    def key(columns: RecordColumns, at: int) -> bytes | None:
        assert columns.keys is not None
        return columns.keys.item(at)

    def headers(columns: RecordColumns, at: int) -> bytes:
        assert columns.headers is not None
        pairs = columns.headers.item(at)
        return b",".join(shown(name) + b"=" + shown(content) for name, content in pairs)

    words: dict[str, Write] = {
        "t": lambda _c, _at, where: shown(where[0].encode()),
        "p": lambda _c, _at, where: b"%d" % where[1],
        "o": lambda columns, at, _where: b"%d" % int(columns.offsets[at]),
        "T": lambda columns, at, _where: b"%d" % int(columns.timestamps[at]),
        "k": lambda columns, at, _where: shown(key(columns, at)),
        "K": lambda columns, at, _where: _size(key(columns, at)),
        "s": lambda columns, at, _where: shown(value(columns, at)),
        "S": lambda columns, at, _where: _size(value(columns, at)),
        "h": lambda columns, at, _where: headers(columns, at),
        "%": _fixed(b"%"),
    }
    return words[letter]


def _size(content: bytes | None) -> bytes:
    return b"-1" if content is None else b"%d" % len(content)
