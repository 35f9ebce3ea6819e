"""The entries of the library: each kernel that Python calls, with its arguments and results.

The C functions, the calls from Python, their checks and the tests of the twins all follow this
table. An argument is a name, perhaps with a kind; without one it is an int64:

    rows: BATCH_ROW[m]       an array that is read: its address, then its length
    rows: set BATCH_ROW[m]   an array that is written, too
    spans: int64[m, 2]       a constant is the length, or for a first dimension the least one;
                             a letter that returns is the least length of the other array
    writes: bool             0 or 1
    library: Library         the numbers of a named tuple, one by one
    out: RecordOutputs       the address of a record of the addresses and lengths of its arrays

All arrays are C-contiguous and aligned.
"""

import re
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from workbench.kernels.codecs.inputs import DecodeTask, DecompressionBounds, Library
from workbench.kernels.reading.outputs import SEARCHED_FIELDS, RecordOutputs
from workbench.kernels.writing.checks import COLUMNS
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.compaction import BATCH_OUTCOME, FACTS, RECORD_PLACE

ENTRIES: Final = {
    "are_canonical": (
        "writing.canonical",
        "data: uint8[n], start, end, count, base_timestamp -> bool",
    ),
    "check_batches": (
        "writing.validate",
        (
            "data: uint8[n], position, rows: set int64[m, COLUMNS], options, now, before, after"
            " -> count, position, code"
        ),
    ),
    "check_crcs": (
        "reading.decode",
        "data: uint8[n], position, rows: BATCH_ROW[m], matches: set bool[m]",
    ),
    "check_message_crcs": (
        "reading.messages",
        "data: uint8[n], position, rows: BATCH_ROW[m], matches: set bool[m]",
    ),
    "check_records": (
        "writing.validate_records",
        "data: uint8[n], start, end, row: set int64[COLUMNS], options, now, before, after",
    ),
    "choose_entries": (
        "reading.recover",
        "rows: BATCH_ROW[m], last_entry, interval, chosen: set int64[m] -> count",
    ),
    "crc32": ("checksum", "data: uint8[n] -> crc"),
    "crc32c": ("checksum", "data: uint8[n] -> crc"),
    "decide_batches": (
        "compaction.retain",
        (
            "rows: BATCH_ROW[m], places: RECORD_PLACE[n], found: int64[n], end_offset,"
            " reasons: uint8[k, FACTS], superseded, new_horizon, outcomes: set BATCH_OUTCOME[m],"
            " first, last, chosen: set uint8[n], newer: set int64[n] -> kept, max_offset"
        ),
    ),
    "decode_avro": (
        "avro",
        (
            "data: uint8[n], spans: int64[m, 2], program: int64[o, 4], jumps: int64[j],"
            " columns: int64[k, 2], counts: set int64[k], memory: set int64[w],"
            " numbers: set int64[v],"
            " results: set int64[m, 2], writes: bool"
        ),
    ),
    "decode_blocks": (
        "codecs.lz4",
        (
            "source: uint8[n], at, largest_block, target: set uint8[c], used, target_end, library"
            " -> code, at, used"
        ),
    ),
    "decode_messages": (
        "reading.messages",
        (
            "data: uint8[n], spans: int64[m, 2], rows: set BATCH_ROW[k], first, last, options,"
            " out: RecordOutputs -> row, code, position"
        ),
    ),
    "decode_packed": (
        "codecs.packed",
        (
            "source: uint8[n], places: int64[m, 2], task: DecodeTask, limits: DecompressionBounds,"
            " library: Library, room: set uint8[c], spans: set int64[m, 2], rows: BATCH_ROW[m],"
            " out: RecordOutputs -> row, code, position"
        ),
    ),
    "decode_records": (
        "reading.decode",
        (
            "data: uint8[n], spans: int64[m, 2], rows: BATCH_ROW[k], first, last, options,"
            " out: RecordOutputs -> row, code, position"
        ),
    ),
    "encode_records": (
        "writing.encode",
        (
            "columns: RecordOutputs, picks: int64[m], base_offset, base_timestamp, options,"
            " out: set uint8[n], used -> used"
        ),
    ),
    "find_batch": (
        "reading.search",
        (
            "data: uint8[n], position, file_end, offset, timestamp, rows: set BATCH_ROW[1],"
            " headers: set int64[2, SEARCHED] -> position, code"
        ),
    ),
    "find_keys": (
        "compaction.key_table",
        (
            "data: uint8[n], places: RECORD_PLACE[m], count, end_offset, table: int64[t],"
            " secret_low,"
            " secret_high, marks: uint8[k], origin, found: set int64[f]"
        ),
    ),
    "find_record": (
        "reading.search",
        (
            "data: uint8[n], position, file_end, offset, timestamp, rows: set BATCH_ROW[1],"
            " headers: set int64[2, SEARCHED], offsets: set int64[m], timestamps: set int64[m],"
            " batch: set int32[m] -> position, code, slot"
        ),
    ),
    "first_invalid": ("reading.recover", "data: uint8[n], position, rows: BATCH_ROW[m] -> row"),
    "gather_bytes": (
        "avro",
        "data: uint8[n], starts: int64[m], offsets: int64[m + 1], out: set uint8[c]",
    ),
    "locate_records": (
        "compaction.locate",
        (
            "data: uint8[n], spans: int64[m, 2], rows: BATCH_ROW[k], first, last,"
            " places: set RECORD_PLACE[p], used, marks: uint8[c], origin"
            " -> used, row, code, position, passed"
        ),
    ),
    "measure_records": (
        "writing.encode",
        "columns: RecordOutputs, picks: int64[m], base_offset, base_timestamp, options -> size",
    ),
    "murmur2_many": ("murmur2", "offsets: int64[m + 1], data: uint8[n], out: set int64[m]"),
    "pack_batches": (
        "codecs.packing",
        (
            "plain: uint8[n], at, codec, library: Library, outcomes: set BATCH_OUTCOME[m],"
            " first, last,"
            " out: set uint8[c], filled -> filled, at, row"
        ),
    ),
    "pick_json_fields": (
        "json",
        (
            "data: uint8[n], spans: int64[m, 2], names: uint8[k], name_ends: int64[f],"
            " memory: set int64[w], out: set uint8[c], offsets: set int64[m + 1],"
            " is_whole: set bool[m] -> used"
        ),
    ),
    "put_keys": (
        "compaction.key_table",
        (
            "data: uint8[n], places: RECORD_PLACE[m], count, start_offset,"
            " table: set int64[t], room,"
            " secret_low, secret_high, marks: set uint8[k], origin, before -> read, new, last"
        ),
    ),
    "scan_file": (
        "reading.scan",
        (
            "descriptor, position, file_end, window: set uint8[4096], rows: set BATCH_ROW[m]"
            " -> count, position, code"
        ),
    ),
    "scan_window": (
        "reading.scan",
        "data: uint8[n], position, file_end, rows: set BATCH_ROW[m] -> count, position, code",
    ),
    "seal_batch": ("compaction.retain", "data: set uint8[n], start, end"),
    "sum_keys": (
        "compaction.key_table",
        "data: uint8[n], places: RECORD_PLACE[m], secret_low, secret_high, sums: set int64[2, m]",
    ),
    "superseded_batches": (
        "compaction.locate",
        "rows: BATCH_ROW[m], marks: uint8[n], origin, found: set bool[m]",
    ),
    "survey_batches": ("compaction.locate", "rows: BATCH_ROW[m] -> found, last_offset"),
    "unpack_bodies": (
        "codecs.unpack",
        (
            "codec, source: uint8[n], places: int64[m, 2], first, target: set uint8[c], used,"
            " limits: DecompressionBounds, library: Library, spans: set int64[m, 2] -> index, used"
        ),
    ),
    "write_batches": (
        "compaction.retain",
        (
            "buffer: uint8[b], data: uint8[n], rows: BATCH_ROW[m], places: RECORD_PLACE[p], used,"
            " chosen: uint8[p], superseded, outcomes: set BATCH_OUTCOME[m], first, last,"
            " out: set uint8[c], filled -> filled, used, row, code"
        ),
    ),
}
"""Each entry's name, the module of its kernel, and what it takes and gives."""

_DTYPES: Final[dict[str, np.dtype[Any]]] = {
    "uint8": np.dtype(np.uint8),
    "int32": np.dtype(np.int32),
    "int64": np.dtype(np.int64),
    "bool": np.dtype(np.bool_),
    "BATCH_ROW": BATCH_ROW,
    "BATCH_OUTCOME": BATCH_OUTCOME,
    "RECORD_PLACE": RECORD_PLACE,
}
_TUPLES: Final[dict[str, Any]] = {
    "DecodeTask": DecodeTask,
    "DecompressionBounds": DecompressionBounds,
    "Library": Library,
}
_LENGTHS: Final = {"COLUMNS": COLUMNS, "FACTS": FACTS, "SEARCHED": len(SEARCHED_FIELDS)}
_ARGUMENT: Final = re.compile(r"(\w+)(?:: (set )?(\w+)(?:\[([^]]+)\])?)?(?:, |$)")


class Argument(NamedTuple):
    """An argument of an entry.

    Attributes:
        name: as in the kernel.
        kind: "int", "bool", "tuple", "array" or "outputs".
        dtype: of an array.
        lengths: of an array: for each dimension a number, or a letter with what is added to it.
        is_set: whether it is an array that the kernel writes to.
        of: the class of a named tuple.
    """

    name: str
    kind: str
    dtype: np.dtype[Any] | None = None
    lengths: tuple[int | tuple[str, int], ...] = ()
    is_set: bool = False
    of: Any = None


class KernelEntry(NamedTuple):
    """An entry of the library.

    Attributes:
        name: of the C function, and of the kernel.
        module: of the kernel, within `workbench.kernels`; its twin is in the same one of `plain`.
        arguments: in their order.
        results: their names; one that is "bool" is 0 or 1.
        text: the declaration, for people.
    """

    name: str
    module: str
    arguments: tuple[Argument, ...]
    results: tuple[str, ...]
    text: str


@cache
def entry(name: str) -> KernelEntry:
    """Return an entry of the table."""
    module, text = ENTRIES[name]
    arguments, _, results = text.partition(" -> ")
    return KernelEntry(
        name,
        module,
        tuple(_argument(*found.groups()) for found in _ARGUMENT.finditer(arguments)),
        tuple(results.split(", ")) if results else (),
        f"{name}({arguments})" + (f" -> {results}" if results else ""),
    )


def _argument(name: str, is_set: str | None, kind: str | None, lengths: str | None) -> Argument:
    if lengths is not None:
        parts = tuple(map(_length, lengths.split(", ")))
        return Argument(name, "array", _DTYPES[kind or ""], parts, is_set is not None)
    if kind == "RecordOutputs":
        return Argument(name, "outputs", of=RecordOutputs)
    if kind in _TUPLES:
        return Argument(name, "tuple", of=_TUPLES[kind])
    return Argument(name, kind or "int")


def _length(text: str) -> int | tuple[str, int]:
    if text.isdigit():
        return int(text)
    if text in _LENGTHS:
        return _LENGTHS[text]
    letter, _, more = text.partition(" + ")
    return letter, int(more or 0)
