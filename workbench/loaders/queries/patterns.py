"""Find bytes in Arrow columns: plain, hex or regular expressions, a column at once.

Everything is matched by RE2, whose time is linear in the bytes: no expression can hang. It matches
bytes: ``.`` is one byte, and letters beyond ASCII are the bytes of their UTF-8.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import QueryError

Mask = npt.NDArray[np.bool_]

_LONGEST: Final = 10_000  # characters of an expression
_PLAIN: Final = re.compile(rb"[A-Za-z0-9]")


def flags(values: Any) -> Mask:
    """Return an Arrow array of booleans as bool[n]; null is false."""
    validity, data = values.buffers()

    def bits(buffer: Any) -> Mask:
        first, last = values.offset, values.offset + len(values)
        unpacked = np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little")
        return unpacked[first:last].view(np.bool_)

    found = bits(data)
    return found if validity is None else found & bits(validity)


@dataclass(frozen=True)
class Pattern:
    """What to find in bytes.

    Attributes:
        expression: the regular expression, in ASCII or UTF-8.
        ignores_case: whether ASCII letters match in both cases.
    """

    expression: bytes
    ignores_case: bool = False

    def find(self, values: Any) -> Mask:
        """Return bool[n]: which items of a binary array hold a match; null never does."""
        if not len(values):
            return np.zeros(0, np.bool_)
        found = pc.match_substring_regex(values, self.expression, ignore_case=self.ignores_case)
        return flags(found)


def literal(data: bytes, *, ignores_case: bool = False, is_whole: bool = False) -> Pattern:
    """Return the pattern of the bytes themselves.

    Args:
        data: what to find.
        ignores_case: whether ASCII letters match in both cases.
        is_whole: whether nothing may be before or after it.
    """
    escaped = b"".join(
        bytes((byte,)) if _PLAIN.match(bytes((byte,))) else b"\\x%02x" % byte for byte in data
    )
    if ignores_case:  # in ASCII alone: the others are bytes, not letters
        letters = re.compile(rb"\\x..|([A-Za-z]+)")
        escaped = letters.sub(lambda run: b"(?i:%s)" % run[1] if run[1] else run[0], escaped)
    return Pattern(rb"\A" + escaped + rb"\z" if is_whole else escaped)


def one_of(patterns: Iterable[Pattern]) -> Pattern:
    """Return the pattern that finds what one of several finds."""
    flagged = ((b"(?i:%s)" if each.ignores_case else b"(?:%s)", each) for each in patterns)
    return Pattern(b"|".join(form % each.expression for form, each in flagged))


def regular_expression(text: str, *, ignores_case: bool = False) -> Pattern:
    """Return the pattern of a regular expression; ``.`` matches line ends, too.

    Raises:
        QueryError: it is none that RE2 accepts, such as one with a look-ahead.
    """
    if len(text) > _LONGEST:
        raise QueryError(f"a regular expression of {len(text):,} characters (at most {_LONGEST:,})")
    pattern = Pattern(b"(?s)" + text.encode("utf-8", "surrogatepass"), ignores_case)
    try:
        pattern.find(pa.array([b""], pa.binary()))
    except pa.ArrowInvalid as error:
        problem = str(error).removeprefix("Invalid regular expression: ").replace("(?s)", "", 1)
        raise QueryError(f"/{text}/ is not a regular expression: {problem}") from None
    return pattern
