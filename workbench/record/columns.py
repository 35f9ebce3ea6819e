"""Many records as arrays: the result of decoding batches of any magic.

Binary columns have the shape of Arrow's large_binary, so that handing them on copies nothing.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.kernels.reading.outputs import (
    HEADER_COUNT,
    HEADER_KEY_BYTES,
    HEADER_VALUE_BYTES,
    HEADER_VALUE_NULLS,
    HEADERS,
    KEY_BYTES,
    KEY_NULLS,
    KEYS,
    OUTPUT_DTYPES,
    RECORDS,
    USED_COUNT,
    VALUE_BYTES,
    VALUE_NULLS,
    VALUES,
    RecordOutputs,
    no_outputs,
)
from workbench.layout.attributes import LOG_APPEND_TIME, NO_TIMESTAMP, NO_TIMESTAMP_TYPE
from workbench.record.buffers import BufferPool


@dataclass(frozen=True, slots=True)
class BinaryColumn:
    """n byte strings or nulls.

    Attributes:
        offsets: int64[n + 1], ascending, into ``data``.
        data: uint8[m].
        validity: uint8 bitmap, bit i clear: item i is null; None when nothing is null.
        null_count: how many are null.
    """

    offsets: npt.NDArray[np.int64]
    data: npt.NDArray[np.uint8]
    validity: npt.NDArray[np.uint8] | None
    null_count: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def item(self, index: int) -> bytes | None:
        """Return one value; null is None, empty is ``b""``."""
        if self.validity is not None and not self.validity[index >> 3] >> (index & 7) & 1:
            return None
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes()

    def items(self) -> list[bytes | None]:
        """Return all values as `item` does, a few times faster."""
        first = int(self.offsets[0])
        content = self.data[first : int(self.offsets[-1])].tobytes()
        places = (self.offsets - first).tolist()
        values: list[bytes | None] = [content[start:end] for start, end in pairwise(places)]
        if self.validity is not None:
            for index in np.flatnonzero(self.is_null()).tolist():
                values[index] = None
        return values

    def cut(self, first: int, last: int) -> "BinaryColumn":
        """Return the values [first, last), which share the bytes."""
        null = self.is_null()[first:last]
        validity = np.packbits(~null, bitorder="little") if null.any() else None
        return BinaryColumn(
            self.offsets[first : last + 1], self.data, validity, int(np.count_nonzero(null))
        )

    def sizes(self) -> npt.NDArray[np.int64]:
        """Return int64[n]: bytes of each value, 0 for null."""
        return np.diff(self.offsets)

    def is_null(self) -> npt.NDArray[np.bool_]:
        """Return bool[n]."""
        if self.validity is None:
            return np.zeros(len(self), np.bool_)
        bits = np.unpackbits(self.validity, count=len(self), bitorder="little")
        null: npt.NDArray[np.bool_] = bits == 0
        return null


@dataclass(frozen=True, slots=True)
class HeaderColumn:
    """The headers of n records: `offsets` int32[n + 1] into two columns of names and values."""

    offsets: npt.NDArray[np.int32]
    keys: BinaryColumn
    values: BinaryColumn

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def sizes(self) -> npt.NDArray[np.int64]:
        """Return int64[n]: bytes of the names and values of each record's headers."""
        ends = self.keys.offsets[self.offsets] + self.values.offsets[self.offsets]
        return np.diff(ends)

    def item(self, index: int) -> list[tuple[bytes, bytes | None]]:
        """Return the headers of one record in their order; names may repeat."""
        first, last = int(self.offsets[index]), int(self.offsets[index + 1])
        return [(self.keys.item(i) or b"", self.values.item(i)) for i in range(first, last)]


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """n records, ascending by position in the log.

    Attributes:
        offsets: int64[n].
        timestamps: int64[n], ms, -1: none.
        batch: int32[n], row of the batch table that came with the columns.
        keys, values, headers: None when they were not asked for.
    """

    offsets: npt.NDArray[np.int64]
    timestamps: npt.NDArray[np.int64]
    batch: npt.NDArray[np.int32]
    keys: BinaryColumn | None
    values: BinaryColumn | None
    headers: HeaderColumn | None

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        parts = [self.keys, self.values]
        if self.headers is not None:
            parts += [self.headers.keys, self.headers.values]
        binary = sum(part.data.nbytes + part.offsets.nbytes for part in parts if part is not None)
        return self.offsets.nbytes + self.timestamps.nbytes + self.batch.nbytes + binary

    def sizes(self) -> npt.NDArray[np.int64]:
        """Return int64[n]: bytes of each record's key, value and headers that were asked for."""
        parts = (self.keys, self.values, self.headers)
        return sum(
            (part.sizes() for part in parts if part is not None), np.zeros(len(self), np.int64)
        )

    def timestamp_types(
        self, rows: npt.NDArray[Any], first: int = 0, end: int | None = None
    ) -> npt.NDArray[np.int8]:
        """Return int8[k]: the timestamp type of records [first, end), that of their batch.

        But a message of magic 0 in a wrapper with LogAppendTime has no time, so no type either
        (KAFKA-4298 left such mixtures).

        Args:
            rows: BATCH_ROW[m] that `batch` numbers.
        """
        codes: npt.NDArray[np.int8] = rows["timestamp_type"][self.batch[first:end]]
        is_bare = (codes == LOG_APPEND_TIME) & (self.timestamps[first:end] == NO_TIMESTAMP)
        return np.where(is_bare, np.int8(NO_TIMESTAMP_TYPE), codes) if is_bare.any() else codes


_UNUSED: Final = no_outputs()


class ColumnBuilder:
    """Output arrays that grow between kernel calls; `finish` trims them to the filled part.

    Args:
        options: which of KEYS, VALUES, HEADERS are wanted.
        pool: where the arrays come from.
        value_data: the decoded bytes themselves, for uncompressed batches of magic 2 only: the
            values move together within them, which costs less than copies to memory that is not in
            the cache. Default: memory of the pool.
    """

    def __init__(
        self, options: int, pool: BufferPool, value_data: npt.NDArray[np.uint8] | None = None
    ) -> None:
        self._options = options
        self._pool = pool
        self._value_data = value_data
        self._used = np.zeros(USED_COUNT, np.int64)
        self._out = _UNUSED
        self._record_room = -1
        self._byte_room = 0

    def reserve(self, records: int, size: int) -> RecordOutputs:
        """Return outputs with room for ``records`` more records of ``size`` bytes in all."""
        used = self._used.tolist()
        needed_records = used[RECORDS] + records
        # Keys, values and headers each may take all of the bytes.
        most = max(
            used[KEY_BYTES], used[VALUE_BYTES], used[HEADER_KEY_BYTES], used[HEADER_VALUE_BYTES]
        )
        needed_bytes = max(most, 2 * used[HEADER_COUNT]) + size
        if needed_records > self._record_room or needed_bytes > self._byte_room:
            grows = self._record_room >= 0
            self._record_room = max(needed_records, 2 * self._record_room if grows else 0)
            self._byte_room = max(needed_bytes, 2 * self._byte_room if grows else 0)
            self._allocate()
        return self._out

    def expect(self, records: int, size: int) -> None:
        """Make room at once for what will probably come, so that the outputs need not grow often.

        Memory that is then not filled is not touched, and costs nothing.
        """
        self.reserve(records, size)

    def _allocate(self) -> None:
        """Take new arrays for the room wanted, and move what is filled."""
        rooms = self._rooms()
        # No longer than the room: kernels see by the lengths what there is room for.
        taken = self._pool.take_all(
            [(OUTPUT_DTYPES[name], room) for name, (_, room) in rooms.items()]
        )
        new = dict(zip(rooms, taken, strict=True))
        for name, (filled, _) in rooms.items():
            if filled:
                new[name][:filled] = getattr(self._out, name)[:filled]
            if name.endswith("_validity"):
                new[name][filled:] = 0xFF  # unused bits are set
        if self._options & VALUES and self._value_data is not None:
            new["value_data"] = self._value_data
        self._out = self._out._replace(used=self._used, **new)

    def _rooms(self) -> dict[str, tuple[int, int]]:
        """Return how many items of each array are filled, and how many there are to be."""
        records, size, options = self._record_room, self._byte_room, self._options
        used = self._used.tolist()
        count, headers, most_headers = used[RECORDS], used[HEADER_COUNT], size // 2 + 2
        rooms = dict.fromkeys(("offsets", "timestamps", "batch"), (count, records))
        for wanted, kind, place in ((KEYS, "key", KEY_BYTES), (VALUES, "value", VALUE_BYTES)):
            if options & wanted:
                rooms[f"{kind}_offsets"] = count + 1, records + 1
                rooms[f"{kind}_data"] = used[place], size
                rooms[f"{kind}_validity"] = (count + 7) // 8, records // 8 + 2
        if self._value_data is not None:
            rooms.pop("value_data", None)
        if options & HEADERS:
            rooms["header_offsets"] = count + 1, records + 1
            for kind, place in (
                ("header_key", HEADER_KEY_BYTES),
                ("header_value", HEADER_VALUE_BYTES),
            ):
                rooms[f"{kind}_offsets"] = headers + 1, most_headers + 1
                rooms[f"{kind}_data"] = used[place], size
            rooms["header_value_validity"] = (headers + 7) // 8, most_headers // 8 + 2
        return rooms

    @property
    def record_count(self) -> int:
        """Records so far."""
        return int(self._used[RECORDS])

    @property
    def byte_count(self) -> int:
        """Bytes of keys, values and headers so far."""
        used: list[int] = self._used.tolist()
        headers = used[HEADER_KEY_BYTES] + used[HEADER_VALUE_BYTES]
        return used[KEY_BYTES] + used[VALUE_BYTES] + headers

    def _binary(self, kind: str, count: int, size: int, nulls: int) -> BinaryColumn:
        out = self._out
        validity = getattr(out, f"{kind}_validity")[: count // 8 + 1] if nulls else None
        offsets, data = getattr(out, f"{kind}_offsets"), getattr(out, f"{kind}_data")
        return BinaryColumn(offsets[: count + 1], data[:size], validity, nulls)

    def finish(self) -> RecordColumns:
        """Return what was decoded. The builder must not be used afterwards."""
        used, out = self._used.tolist(), self._out
        count = used[RECORDS]
        keys = values = headers = None
        if self._options & KEYS:
            keys = self._binary("key", count, used[KEY_BYTES], used[KEY_NULLS])
        if self._options & VALUES:
            values = self._binary("value", count, used[VALUE_BYTES], used[VALUE_NULLS])
        if self._options & HEADERS:
            header_count = used[HEADER_COUNT]
            names = BinaryColumn(
                out.header_key_offsets[: header_count + 1],
                out.header_key_data[: used[HEADER_KEY_BYTES]],
                None,
                0,
            )
            contents = self._binary(
                "header_value", header_count, used[HEADER_VALUE_BYTES], used[HEADER_VALUE_NULLS]
            )
            headers = HeaderColumn(out.header_offsets[: count + 1], names, contents)
        return RecordColumns(
            out.offsets[:count], out.timestamps[:count], out.batch[:count], keys, values, headers
        )
