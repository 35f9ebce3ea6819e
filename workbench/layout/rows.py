"""Copy rows of this folder's structured types as bytes.

numpy copies such arrays field by field: 0.3 us per batch row, where copying its bytes takes 10 ns.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[Any]


def joined_rows(parts: Iterable[Rows], kind: npt.DTypeLike) -> Rows:
    """Return the rows of all parts, each contiguous and of this type, one after the other."""
    start = np.empty(0, np.uint8)
    return np.concatenate([start, *(part.view(np.uint8) for part in parts)]).view(kind)


def with_more_rows(rows: Rows, more: int) -> Rows:
    """Return the given rows, contiguous, followed by ``more`` rows of zeros."""
    grown = np.zeros(len(rows) + more, rows.dtype)
    grown.view(np.uint8)[: rows.nbytes] = rows.view(np.uint8)
    return grown


def runs_of(keep: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return [first, end) of every run of true items."""
    edges = np.flatnonzero(np.diff(keep, prepend=False, append=False))
    return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]
