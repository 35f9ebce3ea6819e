"""A named run of bytes, and the list that collects them during a walk over a batch.

A list knows which bytes it describes (a file's, or the decompressed ones of a batch), so the
functions that walk only report what they find, and where in their own bytes.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from workbench.layout.structure import place, width

PRIVATE: Final = frozenset({"key", "value", "records"})
"""Names of the fields of a batch that hold a user's data."""


@dataclass(frozen=True, slots=True)
class ByteField:
    """A named run of bytes.

    Attributes:
        name: as in `layout` and Kafka's grammar; groups are called ``batch header``, ``record 3``.
        position: byte in the file, or in the decompressed records if ``is_decompressed``.
        size: bytes; groups span their fields, a field that does not fit the bytes left of it.
        value: int, bytes, str or bool; None for null, for groups and for what is not decoded.
        note: the field's meaning; empty when the name is enough.
        level: 0 for groups, 1 for fields, 2 for bits and the parts of headers.
            A group comes before its fields.
        is_decompressed: whether the bytes are not in the file but among the decompressed ones.
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
        data: the bytes to walk over.
        base: position of ``data[0]`` in the file; 0 for decompressed bytes.
        is_decompressed: the value for `ByteField.is_decompressed`.
    """

    data: memoryview
    base: int = 0
    is_decompressed: bool = False
    fields: list[ByteField] = field(default_factory=list)

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
            ByteField(
                name, self.base + at, end - at, value, note, level, self.is_decompressed, is_wrong
            )
        )

    def begin(self, name: str, at: int) -> int:
        """Append a group that starts at ``at`` and return its number, for `finish`."""
        self.add(name, at, at, level=0)
        return len(self.fields) - 1

    def finish(self, group: int, end: int, note: str = "", *, is_wrong: bool = False) -> None:
        """Set the end of a group, once it is known."""
        old = self.fields[group]
        self.fields[group] = ByteField(
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
        """Append the fields of a layout that starts at ``at``, up to ``end``.

        Returns:
            Their values by name, without fields that the end truncates.
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
        """Set the note of the newest field called ``name``, and its value unless that is None."""
        for number in range(len(self.fields) - 1, -1, -1):
            old = self.fields[number]
            if old.name == name:
                shown = old.value if value is None else value
                self.fields[number] = ByteField(
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


CUT_SHORT: Final = "incomplete: the bytes end too early"
