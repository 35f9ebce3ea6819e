"""The outputs of the decode kernels: columns of records as flat arrays, with their fill levels.

A binary column is `offsets` int64[n + 1] into `data`, and `validity`, a bitmap that the caller has
set
to ones and in which a null clears its bit: the shape of Arrow's large_binary.
"""

from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

# Options of the decode kernels.
CHECK_CRC: Final = 1
KEYS: Final = 2
VALUES: Final = 4
HEADERS: Final = 8

# Positions in `RecordOutputs.used`.
RECORDS: Final = 0
KEY_BYTES: Final = 1
VALUE_BYTES: Final = 2
HEADER_COUNT: Final = 3
HEADER_KEY_BYTES: Final = 4
HEADER_VALUE_BYTES: Final = 5
KEY_NULLS: Final = 6
VALUE_NULLS: Final = 7
HEADER_VALUE_NULLS: Final = 8
USED_COUNT: Final = 9

OUT_OF_ROOM: Final = 99  # the caller's error: an output is too small for the records


SEARCHED_FIELDS: Final = (
    "position",
    "size",
    "base_offset",
    "last_offset",
    "max_timestamp",
    "partition_leader_epoch",
    "magic",
)
"""What a search notes of a BATCH_ROW."""


class _Arrays(NamedTuple):
    offsets: npt.NDArray[np.int64]
    timestamps: npt.NDArray[np.int64]
    batch: npt.NDArray[np.int32]
    key_offsets: npt.NDArray[np.int64]
    key_data: npt.NDArray[np.uint8]
    key_validity: npt.NDArray[np.uint8]
    value_offsets: npt.NDArray[np.int64]
    value_data: npt.NDArray[np.uint8]
    value_validity: npt.NDArray[np.uint8]
    header_offsets: npt.NDArray[np.int32]
    header_key_offsets: npt.NDArray[np.int64]
    header_key_data: npt.NDArray[np.uint8]
    header_value_offsets: npt.NDArray[np.int64]
    header_value_data: npt.NDArray[np.uint8]
    header_value_validity: npt.NDArray[np.uint8]
    used: npt.NDArray[np.int64]


class RecordOutputs(_Arrays):
    """Output arrays of one chunk; a column that is not wanted has length 1 or 0.

    `used` int64[9] says how much of each is filled; the next call continues there.
    """

    @cached_property
    def addresses(self) -> npt.NDArray[np.int64]:
        """Return int64[32], the address and the length of each array, as the library takes them.

        Raises:
            TypeError: an array has another type or is not contiguous.
        """
        found = np.empty(2 * len(self), np.int64)
        for index, (name, dtype) in enumerate(OUTPUT_DTYPES.items()):
            array: npt.NDArray[Any] = getattr(self, name)
            if array.dtype != dtype or array.ndim != 1 or not array.flags.c_contiguous:
                raise TypeError(
                    f"{name} of outputs: found {array.dtype}{list(array.shape)}, "
                    f"expected {dtype}[n], contiguous"
                )
            found[2 * index : 2 * index + 2] = array.ctypes.data, len(array)
        return found

    @cached_property
    def address(self) -> int:
        """The address of `addresses`."""
        return int(self.addresses.ctypes.data)


Rows = npt.NDArray[Any]  # of BATCH_ROW


def no_outputs() -> RecordOutputs:
    """Return outputs with room for nothing: every array has one item, `used` is all zeros."""
    return RecordOutputs(
        offsets=np.zeros(1, np.int64),
        timestamps=np.zeros(1, np.int64),
        batch=np.zeros(1, np.int32),
        key_offsets=np.zeros(1, np.int64),
        key_data=np.zeros(1, np.uint8),
        key_validity=np.zeros(1, np.uint8),
        value_offsets=np.zeros(1, np.int64),
        value_data=np.zeros(1, np.uint8),
        value_validity=np.zeros(1, np.uint8),
        header_offsets=np.zeros(1, np.int32),
        header_key_offsets=np.zeros(1, np.int64),
        header_key_data=np.zeros(1, np.uint8),
        header_value_offsets=np.zeros(1, np.int64),
        header_value_data=np.zeros(1, np.uint8),
        header_value_validity=np.zeros(1, np.uint8),
        used=np.zeros(USED_COUNT, np.int64),
    )


OUTPUT_DTYPES: Final = {name: array.dtype for name, array in no_outputs()._asdict().items()}
"""The type of each array of `RecordOutputs`."""
