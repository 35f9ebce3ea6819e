"""Run a compiled kernel and its plain twin on the same bytes and compare all that they do.

Every output has exactly the room that the kernel's docstring asks for and known bytes after it,
so that a write out of bounds shows.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.kernels import dispatch
from workbench.kernels.plain.reading import decode as plain_decode
from workbench.kernels.plain.reading import messages as plain_messages
from workbench.kernels.plain.reading import scan as plain_scan
from workbench.kernels.reading.outputs import (
    HEADER_COUNT,
    HEADER_KEY_BYTES,
    HEADER_VALUE_BYTES,
    HEADERS,
    KEY_BYTES,
    KEYS,
    OUT_OF_ROOM,
    RECORDS,
    USED_COUNT,
    VALUE_BYTES,
    VALUES,
    RecordOutputs,
)
from workbench.layout import problems
from workbench.layout.batch_header import BATCH_HEADER_SIZE
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.message_header import SMALLEST_ENTRY

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[Any]

ALL: Final = KEYS | VALUES | HEADERS
CANARY: Final = 0xA5
_BEHIND: Final = 64  # bytes of it after each output


def as_array(data: bytes) -> Bytes:
    """Return bytes as the kernels take them."""
    return np.frombuffer(data, np.uint8)


@dataclass
class Guarded:
    """Outputs of exact size with known bytes after each."""

    outputs: RecordOutputs
    whole: list[Bytes]
    sizes: list[int]

    def is_intact(self) -> bool:
        """Return whether nothing was written after an output."""
        return all(
            (whole[size:] == CANARY).all()
            for whole, size in zip(self.whole, self.sizes, strict=True)
        )


def guarded_outputs(records: int, size: int, options: int) -> Guarded:
    """Return outputs for ``records`` records of ``size`` bytes in all, and not one more."""
    keys, values, headers = options & KEYS, options & VALUES, options & HEADERS
    most_headers = size // 2 + 1
    lengths = {
        "offsets": (np.int64, records),
        "timestamps": (np.int64, records),
        "batch": (np.int32, records),
        "key_offsets": (np.int64, records + 1 if keys else 1),
        "key_data": (np.uint8, size if keys else 1),
        "key_validity": (np.uint8, records // 8 + 1 if keys else 1),
        "value_offsets": (np.int64, records + 1 if values else 1),
        "value_data": (np.uint8, size if values else 1),
        "value_validity": (np.uint8, records // 8 + 1 if values else 1),
        "header_offsets": (np.int32, records + 1 if headers else 1),
        "header_key_offsets": (np.int64, most_headers + 1 if headers else 1),
        "header_key_data": (np.uint8, size if headers else 1),
        "header_value_offsets": (np.int64, most_headers + 1 if headers else 1),
        "header_value_data": (np.uint8, size if headers else 1),
        "header_value_validity": (np.uint8, most_headers // 8 + 1 if headers else 1),
        "used": (np.int64, USED_COUNT),
    }
    arrays: dict[str, npt.NDArray[Any]] = {}
    whole, sizes = [], []
    for name, (kind, length) in lengths.items():
        used = length * np.dtype(kind).itemsize
        memory = np.full(used + _BEHIND, CANARY, np.uint8)
        memory[:used] = 0xFF if name.endswith("validity") else 0
        arrays[name] = memory[:used].view(kind)
        whole.append(memory)
        sizes.append(used)
    return Guarded(RecordOutputs(**arrays), whole, sizes)


def contents(out: RecordOutputs) -> dict[str, Any]:
    """Return the filled part of the outputs, in plain Python."""
    count, headers = int(out.used[RECORDS]), int(out.used[HEADER_COUNT])
    bits = {
        name: np.unpackbits(getattr(out, name), bitorder="little").tolist()
        for name in ("key_validity", "value_validity", "header_value_validity")
    }
    return {
        "used": out.used.tolist(),
        "offsets": out.offsets[:count].tolist(),
        "timestamps": out.timestamps[:count].tolist(),
        "batch": out.batch[:count].tolist(),
        "key_offsets": out.key_offsets[: count + 1].tolist(),
        "value_offsets": out.value_offsets[: count + 1].tolist(),
        "header_offsets": out.header_offsets[: count + 1].tolist(),
        "header_key_offsets": out.header_key_offsets[: headers + 1].tolist(),
        "header_value_offsets": out.header_value_offsets[: headers + 1].tolist(),
        "key_data": out.key_data[: out.used[KEY_BYTES]].tobytes(),
        "value_data": out.value_data[: out.used[VALUE_BYTES]].tobytes(),
        "header_key_data": out.header_key_data[: out.used[HEADER_KEY_BYTES]].tobytes(),
        "header_value_data": out.header_value_data[: out.used[HEADER_VALUE_BYTES]].tobytes(),
        **bits,  # whole: the bits after the last item are set again after a failure
    }


def scan_both(data: Bytes, position: int, file_end: int, room: int = 64) -> tuple[Rows, int, int]:
    """Return (rows, position, code) of `scan_window`, the same of both."""
    outcomes = []
    found: Rows = np.zeros(0, BATCH_ROW)
    for module in (dispatch, plain_scan):
        memory = np.full(room + 1, 0, BATCH_ROW)
        memory.view(np.uint8)[:] = CANARY
        rows = memory[:room]
        count, reached, code = module.scan_window(data, position, file_end, rows)
        assert (memory[count:].view(np.uint8) == CANARY).all()
        outcomes.append((rows[: int(count)].tolist(), int(reached), int(code)))
        found = rows[: int(count)].copy()
    assert outcomes[0] == outcomes[1]
    return found, outcomes[0][1], outcomes[0][2]


def decode_both(
    data: Bytes,
    spans: npt.NDArray[np.int64],
    rows: Rows,
    options: int = ALL,
    run: tuple[int, int] | None = None,
) -> tuple[tuple[int, int, int], dict[str, Any]]:
    """Decode batches ``run`` (default all), which are all magic 2 or all older, with both twins."""
    first, last = run or (0, len(rows))
    old = bool(len(rows) and rows[first]["magic"] < 2)
    sizes = spans[first:last, 1] - spans[first:last, 0]
    size = int(sizes.sum())
    count = int(rows["record_count"][first:last].clip(0, size).sum())
    if old:
        count = int((sizes // SMALLEST_ENTRY + 1).sum())
    compiled = dispatch.decode_messages if old else dispatch.decode_records
    by_hand = plain_messages.decode_messages if old else plain_decode.decode_records
    outcomes = []
    for kernel in (compiled, by_hand):
        guarded = guarded_outputs(count, size, options)
        own_rows = rows.copy()  # wrappers' base offsets and counts are filled in
        result = kernel(data, spans, own_rows, first, last, options, guarded.outputs)
        assert guarded.is_intact()
        row, code, position = map(int, result)
        outcomes.append(((row, code, position), contents(guarded.outputs), own_rows.tolist()))
    assert outcomes[0] == outcomes[1]
    result, filled, _ = outcomes[0]
    assert result[1] != OUT_OF_ROOM
    return result, filled


def check_both(data: Bytes, position: int, rows: Rows) -> list[bool]:
    """Return which batches have a valid CRC, the same in both twins."""
    answers = []
    module: ModuleType
    for module in (dispatch, plain_decode):
        matches = np.zeros(len(rows), np.bool_)
        module.check_crcs(data, position, rows, matches)
        (dispatch if module is dispatch else plain_messages).check_message_crcs(
            data, position, rows, matches
        )
        answers.append(matches.tolist())
    assert answers[0] == answers[1]
    return answers[0]


def spans_of(rows: Rows, position: int = 0) -> npt.NDArray[np.int64]:
    """Return where the records of uncompressed batches are: those of old entries are whole."""
    spans = np.empty((len(rows), 2), np.int64)
    spans[:, 0] = rows["position"] - position
    spans[:, 1] = spans[:, 0] + rows["size"]
    spans[:, 0] += np.where(rows["magic"] < 2, 0, BATCH_HEADER_SIZE)
    return spans


def sound_runs(rows: Rows) -> list[tuple[int, int]]:
    """Return runs of uncompressed batches without a problem, each of one kind of format."""
    runs: list[tuple[int, int]] = []
    for at, row in enumerate(rows):
        if row["problem"] != problems.OK or row["codec"]:
            continue
        if runs and runs[-1][1] == at and (rows[at - 1]["magic"] < 2) == (row["magic"] < 2):
            runs[-1] = (runs[-1][0], at + 1)
        else:
            runs.append((at, at + 1))
    return runs
