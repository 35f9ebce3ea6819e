"""A window of a batch's bytes with the fields in it, for the bytes view.

Private bytes (keys, values, headers, and everything that is compressed) are replaced by zeros here,
in the kernel, unless values are shown; the field still tells its length.
"""

from collections.abc import Sequence
from typing import Any

from widgets.view.records import Lens
from workbench.inspection.fields import Field
from workbench.inspection.segment import Segment

_TONES = 4
_PRIVATE = ("key", "value", "records", "compressed")


def byte_window(
    segment: Segment, fields: Sequence[Field], position: int, start: int, stop: int, lens: Lens
) -> tuple[dict[str, Any], list[bytes]]:
    """Return bytes [start, stop) of the batch at ``position`` and the fields that touch them.

    Args:
        segment: where the batch lies.
        fields: of the whole batch, ascending by position, groups before what they hold.
        position: of the batch in the file.
        start: byte within the batch.
        stop: byte within the batch, exclusive.
        lens: whether private bytes may be seen.

    Returns:
        ``start``, ``fields`` (start within the batch, size, name, value, note, level, leaf, tone),
        ``masks`` (hidden ranges within the batch), and one buffer: the bytes.
    """
    with open(segment.path, "rb") as file:
        file.seek(position + start)
        data = bytearray(file.read(stop - start))
    shown, masks, tone = [], [], 0
    for at, field in enumerate(fields):
        begin, end = field.position - position, field.position - position + field.size
        is_leaf = at + 1 == len(fields) or fields[at + 1].level <= field.level
        tone = (tone + 1) % _TONES if is_leaf else tone
        if end <= start and not (field.size == 0 and begin >= start) or begin >= stop:
            continue
        hidden = is_leaf and is_private(field.name) and field.size > 0 and not _open(lens)
        if hidden:
            masks.append([begin, end])
            low, high = max(begin, start) - start, min(end, stop) - start
            data[low:high] = bytes(len(data[low:high]))
        shown.append(
            {
                "start": begin,
                "size": field.size,
                "name": field.name,
                "value": "hidden" if hidden else _text(field.value),
                "note": f"{field.size:,} bytes" if hidden else _text(field.note),
                "level": field.level,
                "leaf": is_leaf,
                "tone": tone,
            }
        )
    return {"start": start, "fields": shown, "masks": masks}, [bytes(data)]


def is_private(name: str) -> bool:
    """Whether a field holds what people wrote: a key, a value, a header, or compressed records."""
    return name.rsplit(".", 1)[-1].strip().lower() in _PRIVATE


def _open(lens: Lens) -> bool:
    # A mask changes texts in cells; what it would do to raw bytes nobody can say, so they stay shut.
    return lens.show_values and lens.mask is None


def _text(value: Any) -> str:
    return "" if value is None else str(value)
