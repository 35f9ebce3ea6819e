"""A window of a batch's bytes with the fields in it, for the bytes view.

Private bytes (keys, values, and everything that is compressed) are replaced by zeros here, in the
kernel, unless values are shown; the field still shows its length.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from widgets.view.records import Lens, readable
from workbench.inspection.bytes.field_list import PRIVATE
from workbench.inspection.bytes.fields import ByteField

_TONES = 4

_HOLDS_BITS = "attributes"


class FieldPlace(NamedTuple):
    """A field, with what the bytes view needs to know about it.

    Attributes:
        field: as explained.
        start: the field's first byte within the bytes shown.
        owns: whether the field colors its bytes: it holds no other field, or only bits.
        tone: the number of its color, one of four in turn.
    """

    field: ByteField
    start: int
    owns: bool
    tone: int


def places(fields: Sequence[ByteField], origin: int) -> list[FieldPlace]:
    """Give each field its start and its color.

    Args:
        fields: the fields in byte order, groups before what they hold.
        origin: the position of the first byte shown.
    """
    result: list[FieldPlace] = []
    tone, bits_below = 0, None
    for at, field in enumerate(fields):
        if bits_below is not None and field.level <= bits_below:
            bits_below = None
        is_bit = bits_below is not None
        has_parts = at + 1 < len(fields) and fields[at + 1].level > field.level
        if has_parts and field.name == _HOLDS_BITS:
            has_parts, bits_below = False, field.level
        owns = not has_parts and not is_bit and field.size > 0
        tone = (tone + 1) % _TONES if owns else tone
        result.append(FieldPlace(field, field.position - origin, owns, tone))
    return result


def byte_window(
    data: bytes,
    fields: Sequence[FieldPlace],
    start: int,
    lens: Lens,
    *,
    private: frozenset[str] = PRIVATE,
) -> tuple[dict[str, Any], list[bytes]]:
    """Return a window of bytes and the fields that touch it.

    Args:
        data: the bytes of the window.
        fields: all fields of the bytes shown.
        start: the window's start within the bytes shown.
        lens: whether private bytes are shown.
        private: names of the fields with users' data.

    Returns:
        ``start``, ``fields`` (start, size, name, value, note, level, leaf, tone, wrong), ``masks``
        (hidden ranges), and one buffer: the bytes.
    """
    stop, shown, masks = start + len(data), [], []
    visible = bytearray(data)
    for place in fields:
        field, begin, end = place.field, place.start, place.start + place.field.size
        if begin >= stop or (end <= start and not begin == end == start):
            continue
        hidden = place.owns and field.name in private and not _is_open(lens)
        if hidden:
            masks.append([begin, end])
            low, high = max(begin, start) - start, min(end, stop) - start
            visible[low:high] = bytes(high - low)
        shown.append(
            {
                "start": begin,
                "size": field.size,
                "name": field.name.replace("_", " "),
                "value": "hidden" if hidden and not field.is_wrong else _text(field.value),
                "note": field.note or (f"{field.size:,} bytes" if hidden else ""),
                "level": field.level,
                "leaf": place.owns,
                "tone": place.tone,
                "wrong": field.is_wrong,
            }
        )
    return {"start": start, "fields": shown, "masks": masks}, [bytes(visible)]


def _is_open(lens: Lens) -> bool:
    # A mask changes texts in cells; its effect on raw bytes is undefined, so they remain hidden.
    return lens.show_values and lens.mask is None


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return readable(value)[0] if value else "empty"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
