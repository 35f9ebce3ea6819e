"""What compaction keeps of batches, in plain Python: twins of the kernels of `retain`.

Same arguments, same results as the compiled kernels, whose docstrings apply here, too.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.kernels.plain.checksum import crc32c
from workbench.kernels.plain.varint import encode_varint, wrap64
from workbench.kernels.reading.outputs import OUT_OF_ROOM, Rows
from workbench.layout import attributes, compaction, problems
from workbench.layout.batch_header import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    BATCH_LENGTH_AT,
    CRC_AT,
    CRC_FROM,
    LENGTH_END,
)
from workbench.layout.integers import INT32_MAX
from workbench.layout.structure import as_struct

__all__ = ["decide_batches", "seal_batch", "write_batches"]

_HEADER: Final = as_struct(BATCH_HEADER)
_NONE: Final = -1

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]


def _facts(record: Any, newest: int, end_offset: int) -> int:
    facts = 0
    for bit, holds in (
        (compaction.TOMBSTONE, record["is_tombstone"]),
        (compaction.SUPERSEDED, newest > record["offset"]),
        (compaction.NO_KEY, record["key_size"] < 0),
        (compaction.BEYOND, record["offset"] >= end_offset),
    ):
        facts |= bit if holds else 0
    return facts


def decide_batches(
    rows: Rows,
    places: Any,
    found: Longs,
    end_offset: int,
    reasons: Bytes,
    superseded: int,
    new_horizon: int,
    outcomes: Any,
    first: int,
    last: int,
    chosen: Bytes,
    newer: Longs,
) -> tuple[int, int]:
    """Decide on records and batches: see `retain.decide_batches`."""
    for index, record in enumerate(places):
        facts = _facts(record, int(found[index]), end_offset)
        chosen[index] = reasons[outcomes["rule"][record["batch"]], facts]
        newer[index] = found[index] if chosen[index] == superseded else _NONE
    for batch in range(first, last):
        row, outcome = rows[batch], outcomes[batch]
        is_here = places["batch"] == batch
        stays = is_here & (chosen[: len(places)] < superseded)
        has_tombstone = places["is_tombstone"][stays].any()
        horizon = int(row["delete_horizon"])
        lacks_horizon = horizon == _NONE and new_horizon != _NONE
        sets_horizon = lacks_horizon and (outcome["sets_horizon"] or has_tombstone)
        outcome["count"], outcome["kept"] = is_here.sum(), stays.sum()
        outcome["delete_horizon"] = _NONE
        outcome["max_offset"] = row["last_offset"]
        if stays.any():
            is_whole = outcome["kept"] == row["record_count"] and row["magic"] == 2
            outcome["verdict"] = compaction.COPIED
            if not is_whole or sets_horizon:
                outcome["verdict"] = compaction.REBUILT
                outcome["max_offset"] = places["offset"][stays][-1]
            outcome["delete_horizon"] = new_horizon if sets_horizon else horizon
            outcome["new_size"] = row["size"]
        elif outcome["keeping"]:
            outcome["verdict"], outcome["new_size"] = compaction.EMPTIED, BATCH_HEADER_SIZE
        else:
            outcome["verdict"], outcome["new_size"] = compaction.REMOVED, 0
            outcome["max_offset"] = _NONE
    kept = int((chosen[: len(places)] < superseded).sum())
    return kept, max(_NONE, *outcomes["max_offset"][first:last].tolist(), _NONE)


def _is_usual(row: Any) -> bool:
    if row["magic"] != 2 or not 0 <= row["last_offset"] - row["base_offset"] <= INT32_MAX:
        return False
    if row["producer_id"] == _NONE:
        return not row["is_transactional"]
    return bool(row["producer_epoch"] != _NONE and (row["base_sequence"] >= 0 or row["is_control"]))


def _batch(
    row: Any, codec: int, horizon: int, times: tuple[int, int], records: list[bytes]
) -> Bytes:
    """Return a batch with these records; ``times``: base and max timestamp."""
    bits = codec
    for bit, is_set in (
        (attributes.LOG_APPEND_TIME_BIT, row["timestamp_type"] == attributes.LOG_APPEND_TIME),
        (attributes.TRANSACTIONAL_BIT, row["is_transactional"]),
        (attributes.CONTROL_BIT, row["is_control"]),
        (attributes.DELETE_HORIZON_BIT, horizon != _NONE),
    ):
        bits |= bit if is_set else 0
    header = _HEADER.pack(
        row["base_offset"],
        0,
        row["partition_leader_epoch"],
        2,
        0,
        bits,
        row["last_offset"] - row["base_offset"],
        *times,
        row["producer_id"],
        row["producer_epoch"],
        row["base_sequence"],
        len(records),
    )
    batch = np.frombuffer(bytearray(b"".join([header, *records])), np.uint8)
    seal_batch(batch, 0, len(batch))
    return batch


def _rebuilt(row: Any, outcome: Any, data: Bytes, records: Any) -> Bytes | None:
    """Return a batch with records; None if a builder must write it."""
    offsets, times = records["offset"], records["timestamp"]
    horizon = int(outcome["delete_horizon"])
    base = int(times[0]) if horizon == _NONE else horizon
    is_usual = (
        records["is_shortest"].all()
        and base >= attributes.NO_TIMESTAMP
        and times.min() >= attributes.NO_TIMESTAMP
        and offsets[0] >= row["base_offset"]
        and (offsets[1:] > offsets[:-1]).all()
        and outcome["max_offset"] <= row["last_offset"]
    )
    if not is_usual:
        return None
    parts = []
    for record in records:
        delta = wrap64(int(record["timestamp"]) - base)
        tail = data[record["tail"] : record["end"]].tobytes()
        body = b"\0" + encode_varint(delta) + tail
        parts.append(encode_varint(len(body)) + body)
    is_append_time = row["timestamp_type"] == attributes.LOG_APPEND_TIME
    largest = int(row["max_timestamp"] if is_append_time else times.max())
    return _batch(row, int(row["codec"]), horizon, (base, largest), parts)


def seal_batch(data: Bytes, start: int, end: int) -> None:
    """Write length and CRC of a batch: see `retain.seal_batch`."""
    numbers = (
        (BATCH_LENGTH_AT, end - start - LENGTH_END),
        (CRC_AT, crc32c(data[start + CRC_FROM : end])),
    )
    for at, number in numbers:
        data[start + at : start + at + 4] = np.frombuffer(number.to_bytes(4, "big"), np.uint8)


def write_batches(
    buffer: Bytes,
    data: Bytes,
    rows: Rows,
    places: Any,
    used: int,
    chosen: Bytes,
    superseded: int,
    outcomes: Any,
    first: int,
    last: int,
    out: Bytes,
    filled: int,
) -> tuple[int, int, int, int]:
    """Write the rest of batches: see `retain.write_batches`."""
    for batch in range(first, last):
        row, outcome = rows[batch], outcomes[batch]
        behind = used + int(outcome["count"])
        part = np.empty(0, np.uint8)
        if outcome["verdict"] == compaction.COPIED:
            start = int(row["position"])
            part = buffer[start : start + int(row["size"])]
        elif outcome["verdict"] != compaction.REMOVED:
            if not _is_usual(row):
                return filled, used, batch, compaction.UNUSUAL
            if outcome["verdict"] == compaction.EMPTIED:
                times = (attributes.NO_TIMESTAMP, int(row["max_timestamp"]))
                part = _batch(row, attributes.NONE, _NONE, times, [])
            else:
                stays = chosen[used:behind] < superseded
                rebuilt = _rebuilt(row, outcome, data, places[used:behind][stays])
                if rebuilt is None:
                    return filled, used, batch, compaction.UNUSUAL
                part = rebuilt
        if len(part) > len(out) - filled:
            return filled, used, batch, OUT_OF_ROOM
        out[filled : filled + len(part)] = part
        outcome["new_size"] = len(part)
        filled += len(part)
        used = behind
    return filled, used, last, problems.OK
