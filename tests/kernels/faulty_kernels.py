"""A program: run a kernel that has one error; `test_checked` says how the process must end."""

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workbench.kernels._jit import kernel
from workbench.kernels.intrinsics import address_of, read_u8, write_u8

Longs = npt.NDArray[np.int64]


@kernel
def item(array: Longs, index: int) -> int:
    return array[index]  # type: ignore[no-any-return]


@kernel
def read_at(array: Longs, at: int) -> int:
    return read_u8(address_of(array) + at)  # type: ignore[no-any-return]


@kernel
def write_at(array: Longs, at: int) -> None:
    write_u8(address_of(array) + at, 1)


@kernel
def write_to_own(count: int) -> int:
    """Use memory that numba has freed: its name is not used after the first line."""
    address = address_of(np.empty(1200, np.uint8))
    for index in range(count):
        write_u8(address + index, index)
    return read_u8(address)  # type: ignore[no-any-return]


def read_only_array() -> Longs:
    array = np.zeros(3, np.int64)
    array.setflags(write=False)
    return array


FAULTS: Final[dict[str, Callable[[], Any]]] = {
    "none": lambda: (item(np.arange(3), 2), write_at(np.zeros(3, np.int64), 23)),
    "index": lambda: item(np.arange(3), 3),
    "read after": lambda: read_at(np.zeros(3, np.int64), 24),
    "read after nothing": lambda: read_at(np.zeros(0, np.int64), 0),
    "write after": lambda: write_at(np.zeros(3, np.int64), 24),
    "write before": lambda: write_at(np.zeros(3, np.int64), -1),
    "write to read-only": lambda: write_at(read_only_array(), 0),
    "use of freed memory": lambda: write_to_own(1000),
}

if __name__ == "__main__":
    FAULTS[sys.argv[1]]()
