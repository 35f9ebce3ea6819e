"""Records as cells of the record list: what may be seen of keys, values and headers.

Values are private. Where they are hidden, a cell shows whether there is a value and its length; the
bytes themselves do not leave the kernel. `ShowsValues` says where they are hidden.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from workbench.decoders.decoder import printable
from workbench.values.masking import AnyMasks, Masks
from workbench.values.readable import as_line, is_failure, is_text

MOST_SHOWN = 160
"""Characters of a value in a cell; the rest is omitted and the cell says so."""

Mask = Callable[[str, bytes], bytes]
"""Takes "key", "value" or "header" and the bytes; returns the bytes to show instead."""

AnyMask: TypeAlias = Mask | AnyMasks
"""What widgets take: a function, or the rules of a mask."""

Cell = list[str]

NOTHING_MEANT: Final[Mapping[str, Any]] = {}


def as_mask(mask: AnyMask) -> Mask | None:
    """Return a mask as a function: itself, or what its rules do.

    Raises:
        SchemaError: a rule has no meaning.
    """
    return mask if mask is None or callable(mask) else Masks.of(mask)


class Lens:
    """How much of the contents is shown.

    Attributes:
        show_values: whether bytes are shown at all.
        mask: a function applied to the bytes before they are shown.
        most: characters of a cell.
        hint: how a hidden cell can be shown.
    """

    def __init__(
        self,
        *,
        show_values: bool = False,
        mask: AnyMask = None,
        most: int = MOST_SHOWN,
        hint: str = "Hidden. LogExplorer(logs, show_values=True) shows it.",
    ) -> None:
        self.show_values = show_values
        self.mask = as_mask(mask)
        self.most = most
        self.hint = hint

    @property
    def decodes(self) -> bool:
        """Whether the meaning of keys and values may be shown: a mask knows only their bytes."""
        return self.show_values and self.mask is None

    def cell(
        self, column: str, value: bytes | None, meaning: Mapping[str, Any] = NOTHING_MEANT
    ) -> Cell:
        """Return text and kind of a cell: "null", "quiet" (empty), "hidden", "text" or "bytes".

        Args:
            column: "key", "value" or "header".
            value: the bytes.
            meaning: by column, what is shown instead of the bytes if the lens `decodes`.
        """
        if column in meaning and self.decodes:
            return meant(meaning[column], self.most)
        if value is None:
            return ["null", "null"]
        if not value:
            return ["empty", "quiet"]
        if not self.show_values:
            return [_length(len(value)), "hidden", self.hint]
        shown = self.mask(column, value) if self.mask else value
        return readable(shown, self.most)

    def headers(self, headers: Sequence[tuple[bytes, bytes | None]]) -> Cell:
        """Return the cell of a record's headers; keys are shown with the values only."""
        if not headers:
            return ["", "quiet"]
        if not self.show_values:
            return [f"{len(headers)} header{'s' if len(headers) > 1 else ''}", "hidden"]
        pairs = [
            f"{key.decode('utf-8', 'replace')}={self.cell('header', value)[0]}"
            for key, value in headers
        ]
        return [_cut(", ".join(pairs), self.most), "text"]


OPEN = Lens(show_values=True)
"""For what no user wrote: control records."""


def readable(value: bytes, most: int = MOST_SHOWN) -> Cell:
    """Return text if the bytes are printable UTF-8, otherwise hexadecimal digits."""
    hexadecimal = [_cut("0x" + value[: most // 2 + 1].hex(), most), "text"]
    try:
        text = value[: most * 4].decode("utf-8")
    except UnicodeDecodeError as error:
        # A character that is incomplete at the end of the piece does not call for hexadecimal.
        if len(value) <= most * 4 or error.start < most * 4 - 4:
            return hexadecimal
        text = value[: error.start].decode("utf-8")
    if not is_text(text):
        return hexadecimal
    return [_cut(text, most), "text"]


def meant(meaning: Any, most: int = MOST_SHOWN) -> Cell:
    """Return the cell of a decoded key or value: text as it is, otherwise JSON in one line.

    What could not be decoded has its bytes and the reason.
    """
    if meaning is None:
        return ["null", "null"]
    if is_failure(meaning):
        return [_cut(as_line(meaning), most), "text"]
    text = (
        meaning
        if isinstance(meaning, str)
        else json.dumps(printable(meaning), default=str, ensure_ascii=False)
    )
    return [_cut(text, most), "text"]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _length(size: int) -> str:
    return f"{size:,} byte{'s' if size != 1 else ''}"


def record_row(
    record: Any, batch: int, lens: Lens, meaning: Mapping[str, Any] = NOTHING_MEANT
) -> list[Any]:
    """Return one row of the record list.

    Args:
        record: the record.
        batch: the number of its batch in the segment.
        lens: how much is shown.
        meaning: what its key and value mean, see `meanings.Meanings`.

    Returns:
        Offset as text, timestamp in ms or None, cells of key, value and headers, number of the
        batch in the segment, and None (a text where no record can be read). Control records hold
        nothing of users, so they are always shown, as text.
    """
    if record.control is not None:
        key, value = ["control", "quiet"], [record.control, "control", record.control]
    else:
        key = lens.cell("key", record.key, meaning)
        value = lens.cell("value", record.value, meaning)
    return [
        str(record.offset),
        record.timestamp,
        key,
        value,
        lens.headers(record.headers or ()),
        batch,
        None,
    ]
