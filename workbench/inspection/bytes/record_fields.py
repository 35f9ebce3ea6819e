"""Name the bytes of the records of a batch and of the messages of a wrapper.

One record of magic 2, every length and number a zigzag varint:

    length · attributes (1 byte) · timestamp_delta · offset_delta · key_length · key ·
    value_length · value · header_count · headers: key_length · key · value_length · value

What does not fit ends the walk: the rest becomes one field that says why. Nothing is raised.

Kafka: DefaultRecord.readFrom, LegacyRecord (4.2)
"""

from collections.abc import Callable
from typing import Final

from workbench.errors import CorruptRecordError
from workbench.inspection.bytes.field_list import CUT_SHORT, FieldList
from workbench.layout.attributes import CODEC_MASK, LOG_APPEND_TIME_BIT, NONE, codec_name
from workbench.layout.message_header import MESSAGE_V0, MESSAGE_V1, SMALLEST_MESSAGE
from workbench.record.control import (
    control_type_name,
    decode_control_record,
    decode_control_type,
)
from workbench.record.varint import decode, decode_long
from workbench.runtime.times import time_text

NOT_USED: Final = "not used: the batch has LogAppendTime"
MAGIC_AT: Final = MESSAGE_V0.fields["magic"][1] if MESSAGE_V0.fields else 0


class _UnfitError(ValueError):
    """A field does not fit; carries where it starts and why."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at
        self.why = why


def _varint(fields: FieldList, name: str, at: int, end: int, level: int = 1) -> tuple[int, int]:
    """Add one varint and return its value and the position after it."""
    try:
        value, after = decode(fields.data[:end], at)
    except CorruptRecordError as error:
        raise _UnfitError(at, f"{name}: {error.problem}") from error
    note = "null" if value == -1 and name.endswith("_length") else ""
    fields.add(name, at, after, value, note=note, level=level)
    return value, after


def _varlong(fields: FieldList, name: str, at: int, end: int) -> tuple[int, int]:
    try:
        value, after = decode_long(fields.data[:end], at)
    except CorruptRecordError as error:
        raise _UnfitError(at, f"{name}: {error.problem}") from error
    fields.add(name, at, after, value)
    return value, after


def _bytes(fields: FieldList, name: str, at: int, end: int, level: int = 1) -> int:
    """Add a length and the bytes it announces; return the position after them."""
    length, at = _varint(fields, f"{name}_length", at, end, level)
    if length < 0:
        return at
    if at + length > end:
        raise _UnfitError(at, f"{name} of {length} bytes, but {end - at} are left in the record")
    fields.add(name, at, at + length, bytes(fields.data[at : at + length]), level=level)
    return at + length


def _record(
    fields: FieldList, at: int, end: int, bases: tuple[int, int | None], *, is_control: bool
) -> int:
    """Add the fields of the record at ``at``; return the position after them."""
    base_offset, base_timestamp = bases
    fields.add("attributes", at, at + 1, fields.data[at], note="no bit has a meaning")
    delta, at = _varlong(fields, "timestamp_delta", at + 1, end)
    stamp = NOT_USED if base_timestamp is None else time_text(base_timestamp + delta)
    fields.amend("timestamp_delta", stamp)
    delta, at = _varint(fields, "offset_delta", at, end)
    fields.amend("offset_delta", f"offset {base_offset + delta}")
    key_at = at
    at = _bytes(fields, "key", at, end)
    if is_control and at > key_at:
        _name_control_record(fields)
    value_at, key = at, fields.fields[-1].value
    at = _bytes(fields, "value", at, end)
    if is_control and at > value_at:
        _name_control_value(fields, key)
    count, at = _varint(fields, "header_count", at, end)
    for number in range(count):
        header = len(fields.fields)
        start = at
        fields.add(f"header {number}", at, at)
        at = _bytes(fields, "key", at, end, 2)
        at = _bytes(fields, "value", at, end, 2)
        _stretch(fields, header, start, at)
    return at


def _name_control_record(fields: FieldList) -> None:
    """Add the meaning of the newest key, that of a control record, as its note."""
    key = fields.fields[-1].value
    try:
        kind = decode_control_type(key if isinstance(key, bytes) else None)
    except CorruptRecordError as error:
        fields.amend("key", error.problem, is_wrong=True)
    else:
        fields.amend("key", control_type_name(kind))


def _name_control_value(fields: FieldList, key: object) -> None:
    """Add the meaning of a control record as the note of its value, the newest field."""
    value = fields.fields[-1].value
    try:
        record = decode_control_record(key if isinstance(key, bytes) else None, value)
    except CorruptRecordError as error:
        fields.amend("value", error.problem, is_wrong=True)
    else:
        if record.value is not None:
            fields.amend("value", str(record))


def _stretch(fields: FieldList, number: int, start: int, end: int) -> None:
    """Set the size of the header that began as field ``number``."""
    old = fields.fields.pop(number)
    inner = fields.fields[number:]
    del fields.fields[number:]
    fields.add(old.name, start, end, level=old.level)
    fields.fields.extend(inner)


def add_records(
    fields: FieldList,
    at: int,
    end: int,
    count: int,
    bases: tuple[int, int | None],
    *,
    is_control: bool,
    most: int,
) -> None:
    """Add the records in bytes [at, end).

    Args:
        fields: where to add; its data holds the records.
        at: where the first record starts.
        end: where the batch ends, exclusive.
        count: the batch's record count.
        bases: the batch's base offset and base timestamp; None when it has LogAppendTime.
        is_control: whether the keys are types of control records.
        most: records to explain; the rest becomes one field.
    """
    for number in range(min(count, most)):
        group = fields.begin(f"record {number}", at)
        try:
            length, start = _varint(fields, "length", at, end)
            stop = start + length
            if length < 1 or stop > end:
                raise _UnfitError(start, f"{length} bytes, but {end - start} are left")  # noqa: TRY301
            after = _record(fields, start, stop, bases, is_control=is_control)
            if after != stop:
                raise _UnfitError(after, f"{stop - after} bytes after the last field")  # noqa: TRY301
        except _UnfitError as problem:
            fields.add("records", problem.at, end, note=problem.why, is_wrong=True)
            fields.finish(group, end, problem.why, is_wrong=True)
            return
        fields.finish(group, stop)
        at = stop
    left = count - most
    if left > 0:
        fields.add("records", at, end, note=f"and {left} more", level=0)
    elif at < end:
        note = f"{end - at} bytes after the last declared record"
        fields.add("records", at, end, note=note, level=0, is_wrong=True)


def add_message_body(fields: FieldList, at: int, end: int) -> tuple[int, int] | None:
    """Add key and value of a magic 0 or 1 message, from ``at`` to ``end``.

    Returns:
        Where its value starts and ends; None when it is null or does not fit.
    """
    size = -1
    for name in ("key", "value"):
        if at + 4 > end:
            note = f"no room for the size of the {name}"
            fields.add("records", at, end, note=note, is_wrong=True)
            return None
        size = int.from_bytes(fields.data[at : at + 4], signed=True)
        fields.add(f"{name}_size", at, at + 4, size, note="null" if size < 0 else "")
        at += 4
        if size < 0:
            continue
        if at + size > end:
            note = f"{name} of {size} bytes, but {end - at} are left in the message"
            fields.add("records", at, end, note=note, is_wrong=True)
            return None
        fields.add(name, at, at + size, bytes(fields.data[at : at + size]))
        at += size
    if at < end:
        note = f"{end - at} bytes after the value"
        fields.add("records", at, end, note=note, is_wrong=True)
        return None
    return (end - size, end) if size >= 0 else None


def add_inner_messages(
    fields: FieldList, first_offset: Callable[[int], int | None], most: int
) -> None:
    """Add the messages that a wrapper decompresses to.

    Args:
        fields: where to add; its data are the decompressed bytes.
        first_offset: maps a stored offset to the real one; None when they are the same.
        most: messages to explain; the rest becomes one field.
    """
    data, at, number = fields.data, 0, 0
    end = len(data)
    while at < end and number < most:
        group = fields.begin(f"message {number}", at)
        layout = MESSAGE_V1 if at + MAGIC_AT < end and data[at + MAGIC_AT] == 1 else MESSAGE_V0
        values = fields.add_layout(layout, at, end, {})
        size = values.get("size", -1)
        stop = at + 12 + size
        if len(values) < len(layout.names or ()) or size < SMALLEST_MESSAGE or stop > end:
            note = CUT_SHORT if stop > end else f"a message of {size} bytes"
            done = min(end, at + layout.itemsize)
            if done < end:
                fields.add("records", done, end, note=note, is_wrong=True)
            fields.finish(group, end, note, is_wrong=True)
            return
        real = first_offset(values["offset"])
        if real is not None:
            fields.amend("offset", f"offset {real}")
        add_message_notes(fields, values)
        add_message_body(fields, at + layout.itemsize, stop)
        fields.finish(group, stop)
        at, number = stop, number + 1
    if at < end:
        fields.add("records", at, end, note="and more messages", level=0)


def add_message_notes(fields: FieldList, values: dict[str, int]) -> None:
    """Add the meaning of the newest message's attributes and timestamp as notes."""
    codec = values["attributes"] & CODEC_MASK
    kind = ""
    if "timestamp" in values:
        kind = "LogAppendTime" if values["attributes"] & LOG_APPEND_TIME_BIT else "CreateTime"
        fields.amend("timestamp", f"{time_text(values['timestamp'])}, {kind}")
    if codec != NONE or kind:
        note = ", ".join(filter(None, (codec_name(codec), kind)))
        fields.amend("attributes", note)
