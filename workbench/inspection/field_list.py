"""A named run of bytes, and the list that collects them while a batch is walked through.

A list knows which bytes it is about (a file's, or those that a batch decompresses to), so that the
functions that walk say only what they find, and where in their own bytes.
"""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from workbench.layout.structure import place, width

LONGEST_TIME: Final = 253_402_300_799_999  # ms; the year 9999, the last that Python can write


@dataclass(frozen=True, slots=True)
class Field:
    """A named run of bytes.

    Attributes:
        name: as in `layout` and Kafka's grammar; groups are called ``batch header``, ``record 3``.
        position: byte in the file, or in the decompressed records where ``is_decompressed``.
        size: bytes; groups span what they hold, a field that does not fit what is left of it.
        value: int, bytes, str or bool; None for null, for groups and for what is not decoded.
        note: what it means; empty when the name says all.
        level: 0 for groups, 1 for fields, 2 for bits and the parts of headers.
            A group stands before what it holds.
        is_decompressed: whether the bytes are not in the file but in what it decompresses to.
        is_wrong: whether the bytes do not fit; ``note`` says how.
    """

    name: str
    position: int
    size: int
    value: Any
    note: str
    level: int
    is_decompressed: bool = False
    is_wrong: bool = False


@dataclass(slots=True)
class FieldList:
    """The fields of one run of bytes, in the order found.

    Attributes:
        data: the bytes that are walked through.
        base: position of ``data[0]`` in the file; 0 for decompressed bytes.
        is_decompressed: what `Field.is_decompressed` becomes.
    """

    data: memoryview
    base: int = 0
    is_decompressed: bool = False
    fields: list[Field] = field(default_factory=list)

    def add(
        self,
        name: str,
        at: int,
        end: int,
        value: Any = None,
        *,
        note: str = "",
        level: int = 1,
        is_wrong: bool = False,
    ) -> None:
        """Append the field that holds bytes [at, end) of the data."""
        self.fields.append(
            Field(
                name, self.base + at, end - at, value, note, level, self.is_decompressed, is_wrong
            )
        )

    def begin(self, name: str, at: int) -> int:
        """Append a group that starts at ``at`` and return its number, for `finish`."""
        self.add(name, at, at, level=0)
        return len(self.fields) - 1

    def finish(self, group: int, end: int, note: str = "", *, is_wrong: bool = False) -> None:
        """Give a group its end, when it is known."""
        old = self.fields[group]
        self.fields[group] = Field(
            old.name,
            old.position,
            self.base + end - old.position,
            None,
            note,
            0,
            self.is_decompressed,
            is_wrong,
        )

    def add_layout(
        self, layout: np.dtype[Any], at: int, end: int, notes: dict[str, str]
    ) -> dict[str, int]:
        """Append the fields of a layout that starts at ``at``, as far as they lie before ``end``.

        Returns:
            Their values by name; those cut off by the end are not among them.
        """
        values: dict[str, int] = {}
        for name in layout.names or ():
            first = at + place(layout, name)
            last = first + width(layout, name)
            if last > end:
                if first < end:
                    self.add(name, first, end, note=CUT_SHORT, is_wrong=True)
                return values
            signed = layout[name].kind == "i"
            value = int.from_bytes(self.data[first:last], signed=signed)
            values[name] = value
            self.add(name, first, last, value, note=notes.get(name, ""))
        return values

    def amend(self, name: str, note: str, *, value: Any = None, is_wrong: bool = False) -> None:
        """Give the newest field called ``name`` a note, and another value unless that is None."""
        for number in range(len(self.fields) - 1, -1, -1):
            old = self.fields[number]
            if old.name == name:
                shown = old.value if value is None else value
                self.fields[number] = Field(
                    name,
                    old.position,
                    old.size,
                    shown,
                    note,
                    old.level,
                    old.is_decompressed,
                    is_wrong,
                )
                return


CUT_SHORT: Final = "cut short: the bytes end inside it"


def time_text(milliseconds: int) -> str:
    """Return a time as ISO 8601 in UTC with milliseconds; -1 and what is no time in words."""
    if milliseconds == -1:
        return "none"
    if not 0 <= milliseconds <= LONGEST_TIME:
        return "not a time"
    moment = dt.datetime.fromtimestamp(milliseconds // 1000, dt.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"
