"""Name every byte of a batch: what the bytes view shows and `describe --batch` prints.

Works for magic 0, 1 and 2 and for damaged batches: what does not fit is marked, nothing raises.
The records of a compressed batch are one field in the file; the decompressed ones follow it, with
positions in the decompressed bytes.

Kafka: DefaultRecordBatch, DefaultRecord, LegacyRecord (4.2)
"""

from typing import Any, Final

import numpy as np

from workbench.inspection.bytes.field_list import CUT_SHORT, ByteField, FieldList
from workbench.inspection.bytes.record_fields import (
    add_inner_messages,
    add_message_body,
    add_message_notes,
    add_records,
)
from workbench.inspection.segment import Segment
from workbench.layout.attributes import (
    CODEC_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    NONE,
    TRANSACTIONAL_BIT,
    codec_name,
)
from workbench.layout.batch_header import (
    ATTRIBUTES_AT,
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    ENTRY_HEADER_SIZE,
    LENGTH_END,
    MAGIC_AT,
)
from workbench.layout.message_header import MESSAGE_V0, MESSAGE_V1, SMALLEST_MESSAGE
from workbench.record.codecs.compression import decompress
from workbench.record.limits import LARGEST_BATCH
from workbench.record.reading.arena import DecompressionError
from workbench.record.reading.windows import entry_crc
from workbench.runtime.times import time_text

__all__ = ["MOST_RECORDS", "ByteField", "explain_batch"]

MOST_RECORDS: Final = 200
"""Records that are explained one by one by default."""

_NEWEST: Final = 2


def explain_batch(
    segment: Segment, position: int, most_records: int = MOST_RECORDS
) -> list[ByteField]:
    """Name every byte of the batch at ``position`` of the segment's `.log` file.

    Args:
        segment: the segment.
        position: byte where the batch starts. Any position is explained as if one started there.
        most_records: records explained one by one; the rest becomes one field.

    Returns:
        Fields in the order of the bytes, groups before their fields; then those with
        `ByteField.is_decompressed`. Empty at or past the end of the file.

    Raises:
        OSError: the file cannot be read.
    """
    with segment.open() as source:
        head = source.read(position, ENTRY_HEADER_SIZE)
        size = int.from_bytes(head[8:LENGTH_END].tobytes(), signed=True) + LENGTH_END
        is_sane = SMALLEST_MESSAGE + LENGTH_END <= size <= LARGEST_BATCH
        data = source.read(position, size if is_sane else BATCH_HEADER_SIZE)
    if not len(data):
        return []
    fields = FieldList(memoryview(data.tobytes()), position)
    magic = int(data[MAGIC_AT]) if len(data) > MAGIC_AT else _NEWEST
    if magic < _NEWEST:
        _explain_message(fields, data, size, most_records)
    elif magic == _NEWEST:
        _explain_batch(fields, data, size, most_records)
    else:
        _explain_unknown(fields, size)
    return fields.fields


def _size_note(fields: FieldList, name: str, size: int) -> bool:
    """Say what is wrong with the size field called ``name``; return whether anything is."""
    if size < SMALLEST_MESSAGE + LENGTH_END:
        note = "below the smallest possible size: the next batch cannot be found"
    elif size > LARGEST_BATCH:
        note = "larger than any batch"
    elif size > len(fields.data):
        note = f"{size - len(fields.data)} bytes more than the file has"
    else:
        fields.amend(name, f"{size} bytes with the {LENGTH_END} up to the end of this field")
        return False
    fields.amend(name, note, is_wrong=True)
    return True


def _crc_note(fields: FieldList, data: Any, stored: int) -> None:
    computed = entry_crc(np.ascontiguousarray(data))
    if stored == computed:
        fields.amend("crc", f"{stored:08x}, matches")
    else:
        note = f"{stored:08x} stored, {computed:08x} computed: the CRC does not match"
        fields.amend("crc", note, is_wrong=True)


def _explain_unknown(fields: FieldList, size: int) -> None:
    end = len(fields.data)
    group = fields.begin("batch header", 0)
    layout = np.dtype([(name, BATCH_HEADER[name]) for name in (BATCH_HEADER.names or ())[:4]])
    fields.add_layout(layout, 0, end, {})
    _size_note(fields, "batch_length", size)
    fields.amend("magic", "unknown; Kafka has magic 0, 1 and 2", is_wrong=True)
    fields.finish(group, min(end, layout.itemsize), "unknown magic", is_wrong=True)
    if end > layout.itemsize:
        note = "cannot be read without a known magic"
        fields.add("records", layout.itemsize, end, note=note, level=0, is_wrong=True)


def _add_bits(fields: FieldList, attributes: int) -> None:
    """Insert the bits of the attributes after them, before the fields that follow."""
    at = ATTRIBUTES_AT
    number = next(n for n, f in enumerate(fields.fields) if f.name == "attributes") + 1
    following = fields.fields[number:]
    del fields.fields[number:]
    codec = attributes & CODEC_MASK
    unknown = codec_name(codec).startswith("unknown")
    is_append_time = bool(attributes & LOG_APPEND_TIME_BIT)
    kind = "LogAppendTime" if is_append_time else "CreateTime"
    rows: list[tuple[str, Any, str]] = [
        ("codec", codec_name(codec), "bits 0 to 2"),
        ("timestamp_type", kind, "bit 3"),
        ("is_transactional", bool(attributes & TRANSACTIONAL_BIT), "bit 4"),
        ("is_control", bool(attributes & CONTROL_BIT), "bit 5"),
        ("has_delete_horizon", bool(attributes & DELETE_HORIZON_BIT), "bit 6"),
    ]
    for name, value, note in rows:
        wrong = unknown and name == "codec"
        fields.add(name, at + 1, at + 2, value, note=note, level=2, is_wrong=wrong)
    if attributes >> 7:
        fields.add("unused", at, at + 2, attributes >> 7 & 0x1FF, note="bits 7 to 15", level=2)
    fields.fields.extend(following)


def _header_notes(values: dict[str, int]) -> dict[str, tuple[str, bool]]:
    """Return the notes on the fields of a complete magic 2 header, and whether they are wrong."""
    has_horizon = bool(values["attributes"] & DELETE_HORIZON_BIT)
    base = time_text(values["base_timestamp"])
    notes = {
        "base_offset": ("the original batch's first offset", False),
        "last_offset_delta": (
            f"last offset {values['base_offset'] + values['last_offset_delta']}",
            False,
        ),
        "base_timestamp": (f"delete horizon: {base}" if has_horizon else base, False),
        "max_timestamp": (time_text(values["max_timestamp"]), False),
        "partition_leader_epoch": ("not covered by the CRC", False),
    }
    for name in ("producer_id", "producer_epoch", "base_sequence"):
        if values[name] == -1:
            notes[name] = ("none: not idempotent" if name == "producer_id" else "none", False)
    if values["record_count"] < 0:
        notes["record_count"] = ("negative", True)
    return notes


def _explain_batch(fields: FieldList, data: Any, size: int, most: int) -> None:
    """Name the bytes of a magic 2 batch."""
    end = len(fields.data)
    group = fields.begin("batch header", 0)
    values = fields.add_layout(BATCH_HEADER, 0, end, {})
    header_end = min(end, BATCH_HEADER_SIZE)
    wrong_size = "batch_length" in values and _size_note(fields, "batch_length", size)
    if len(values) < len(BATCH_HEADER.names or ()):
        fields.finish(group, header_end, CUT_SHORT, is_wrong=True)
        return
    if not wrong_size:
        _crc_note(fields, data, values["crc"])
    for name, (note, is_wrong) in _header_notes(values).items():
        fields.amend(name, note, is_wrong=is_wrong)
    _add_bits(fields, values["attributes"])
    fields.finish(group, header_end)
    if end <= BATCH_HEADER_SIZE:
        return
    is_append_time = values["attributes"] & LOG_APPEND_TIME_BIT
    bases = (values["base_offset"], None if is_append_time else values["base_timestamp"])
    count = values["record_count"]
    is_control = bool(values["attributes"] & CONTROL_BIT)
    codec = values["attributes"] & CODEC_MASK
    if codec == NONE:
        add_records(fields, BATCH_HEADER_SIZE, end, count, bases, is_control=is_control, most=most)
        return
    inner = _decompressed(fields, "records", (BATCH_HEADER_SIZE, end), codec, _NEWEST)
    if inner is not None:
        add_records(inner, 0, len(inner.data), count, bases, is_control=is_control, most=most)
        fields.fields.extend(inner.fields)


def _decompressed(
    fields: FieldList, name: str, span: tuple[int, int], codec: int, magic: int
) -> FieldList | None:
    """Add or amend the field of the compressed bytes and return a list for their contents."""
    at, end = span
    try:
        inner = decompress(codec, fields.data[at:end], magic)
    except DecompressionError as error:
        note, is_wrong, result = f"{codec_name(codec)}: {error}", True, None
    else:
        note = f"{codec_name(codec)}, {len(inner)} bytes when decompressed"
        is_wrong, result = False, FieldList(memoryview(inner), 0, is_decompressed=True)
    if name == "records":
        fields.add(name, at, end, note=note, level=0, is_wrong=is_wrong)
    else:
        fields.amend(name, note, is_wrong=is_wrong)
    return result


def _explain_message(fields: FieldList, data: Any, size: int, most: int) -> None:
    """Name the bytes of a magic 0 or 1 message, and those of the messages it wraps."""
    end = len(fields.data)
    layout = MESSAGE_V1 if data[MAGIC_AT] == 1 else MESSAGE_V0
    group = fields.begin("message", 0)
    values = fields.add_layout(layout, 0, end, {})
    wrong_size = _size_note(fields, "size", size)
    if len(values) < len(layout.names or ()):
        fields.finish(group, end, CUT_SHORT, is_wrong=True)
        return
    add_message_notes(fields, values)
    if not wrong_size:
        _crc_note(fields, data, values["crc"])
    value = add_message_body(fields, layout.itemsize, end)
    fields.finish(group, end)
    codec = values["attributes"] & CODEC_MASK
    if codec == NONE or value is None:
        return
    fields.amend("offset", "the last inner message's offset")
    inner = _decompressed(fields, "value", value, codec, values["magic"])
    if inner is not None:
        last = _last_inner_offset(inner.data)
        shift = values["offset"] - last if values["magic"] == 1 and last is not None else 0
        add_inner_messages(inner, lambda stored: stored + shift, most)
        fields.fields.extend(inner.fields)


def _last_inner_offset(data: Any) -> int | None:
    """Return the stored offset of the last whole message; None when there is none."""
    at, last = 0, None
    while at + LENGTH_END <= len(data):
        size = int.from_bytes(data[at + 8 : at + LENGTH_END], signed=True)
        if size < SMALLEST_MESSAGE or at + LENGTH_END + size > len(data):
            break
        last = int.from_bytes(data[at : at + 8], signed=True)
        at += LENGTH_END + size
    return last
