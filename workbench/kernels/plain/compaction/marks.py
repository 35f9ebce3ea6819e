"""Twin of `kernels.compaction.marks` in plain Python."""

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


def marks_of(marks: Bytes, offset: int) -> int:
    """Return the bits of an offset, counted from the origin; 0 if there are none."""
    if 0 <= offset < 4 * len(marks):
        return int(marks[offset // 4]) >> 2 * (offset % 4) & 3
    return 0
