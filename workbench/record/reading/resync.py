"""Find the next complete batch after invalid bytes.

Kafka gives up at an invalid size; for a rescue we search further. A batch counts as found only if
its CRC is valid, so that ordinary bytes are never mistaken for one.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.file_system.source import FileSource
from workbench.kernels import dispatch
from workbench.layout import problems
from workbench.layout.attributes import CODEC_MASK, LARGEST_CODEC
from workbench.layout.batch_header import (
    ATTRIBUTES_AT,
    BATCH_HEADER_SIZE,
    ENTRY_HEADER_SIZE,
    LENGTH_END,
    MAGIC_AT,
)
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.message_header import MESSAGE_ATTRIBUTES_AT, SMALLEST_ENTRY

_WINDOW: Final = 4 << 20  # bytes looked through at a time; the largest batch that is found
_FIRST_CHECKS: Final = 64 << 20  # bytes
_CHECKS_A_BYTE: Final = 16
FAR: Final = 1 << 31  # the offsets of a segment do not span more
_FIRST_WINDOW: Final = 1 << 14  # mostly the next batch is near, and there can be many candidates


def _candidates(data: npt.NDArray[np.uint8], left: int) -> npt.NDArray[np.int64]:
    """Return positions in ``data`` where offset, size, magic and codec could be a batch's.

    Args:
        data: uint8[n].
        left: the number of bytes from ``data[0]`` to the end of the file.
    """
    count = len(data) - SMALLEST_ENTRY + 1
    if count <= 0:
        return np.zeros(0, np.int64)

    def byte(at: int) -> npt.NDArray[np.uint8]:
        return data[at : at + count]

    # Byte by byte and the rarest first: most positions fail here, without an array of positions.
    likely = byte(MAGIC_AT) <= 2
    likely &= byte(8) == 0  # of the size: below 16 MiB
    likely &= (byte(9) | byte(10) | byte(11)) != 0
    likely &= byte(0) < 0x80  # an offset is never negative
    places = np.flatnonzero(likely)
    size = np.zeros(len(places), np.int64)
    for at in range(9, LENGTH_END):  # its first byte is 0
        size = size << 8 | data[places + at]
    magic = data[places + MAGIC_AT]
    # Both attributes lie within the smallest entry, so within the window.
    codec_at = places + np.where(magic == 2, ATTRIBUTES_AT + 1, MESSAGE_ATTRIBUTES_AT)
    codec = data[codec_at] & CODEC_MASK
    smallest = np.where(magic == 2, BATCH_HEADER_SIZE, SMALLEST_ENTRY) - LENGTH_END
    fits = (size >= smallest) & (size <= left - places - LENGTH_END) & (codec <= LARGEST_CODEC)
    return places[fits]


def batch_at(source: FileSource, position: int) -> Any:
    """Return the BATCH_ROW of the batch that starts at ``position``; None unless its CRC is valid.

    Batches above 4 MiB are not accepted.
    """
    if position < 0:
        return None
    rows: npt.NDArray[Any] = np.zeros(1, BATCH_ROW)
    file_end = source.size
    # The header first: where it is not a batch's, the size it claims is not read.
    count, _, _ = dispatch.scan_window(
        source.read(position, BATCH_HEADER_SIZE), position, file_end, rows
    )
    if not count or rows[0]["problem"] != problems.OK or rows[0]["size"] > _WINDOW:
        return None
    data = source.read(position, int(rows[0]["size"]))
    matches = np.zeros(1, np.bool_)
    if len(data) == rows[0]["size"]:
        dispatch.check_crcs(data, position, rows, matches)
        dispatch.check_message_crcs(data, position, rows, matches)
    return rows[0] if matches[0] else None


class ResyncBudget:
    """How many bytes of apparent batches can still be checked in vain while one file is read.

    In crafted bytes, a batch of 4 MiB can seem to start at every 61st byte: checking all of them
    would take quadratic time. Skipped bytes earn further checks.
    """

    def __init__(self) -> None:
        self.left = _FIRST_CHECKS

    def passed(self, size: int) -> None:
        """Note that ``size`` bytes were searched."""
        self.left += _CHECKS_A_BYTE * size

    def allows(self, size: int) -> bool:
        """Return whether to check a batch of ``size`` bytes, and note that it is checked."""
        if size > self.left:
            return False
        self.left -= size
        return True


class Searched(NamedTuple):
    """The outcome of a search for a batch.

    Attributes:
        position: where the batch starts; None if there is none.
        is_zeros: whether all bytes that were searched are zero, so that no one needs to look again.
    """

    position: int | None
    is_zeros: bool


def find_batch(
    source: FileSource,
    start: int,
    stop: int,
    offsets: tuple[int, int],
    patience: ResyncBudget | None = None,
) -> Searched:
    """Search for the first position in [start, stop) where a batch with a valid CRC starts.

    Batches above 4 MiB are not found.

    Args:
        source: the file.
        start, stop: byte positions.
        offsets: the range [first, end) of the batch's stored offset. A message inside a wrapper
            that its codec did not change has a valid CRC, too, and its own offset.
        patience: the checks left, shared by the searches in one file.
    """
    patience = patience or ResyncBudget()
    rows: npt.NDArray[Any] = np.zeros(1, BATCH_ROW)
    matches = np.zeros(1, np.bool_)
    position, step, is_zeros = start, _FIRST_WINDOW, True
    while position < stop:
        # A batch may begin with zeros that are still in a hole.
        position = max(position, source.past_hole(position, stop) - BATCH_HEADER_SIZE)
        # A little more than a step, so that a batch that begins in its last bytes is met here.
        data = source.read(position, min(step + SMALLEST_ENTRY - 1, stop - position))
        has_bytes = bool(data.any())
        is_zeros &= not has_bytes
        for place in _candidates(data, stop - position).tolist() if has_bytes else ():
            rest, left = data[place : place + BATCH_HEADER_SIZE], stop - position - place
            # A value can hold a whole batch with a valid CRC. Only its offset shows that.
            if not offsets[0] <= int.from_bytes(rest[:8].tobytes(), signed=True) < offsets[1]:
                continue
            # What begins in this window may end in the next: read again here, not stepped back to.
            if len(rest) < BATCH_HEADER_SIZE:
                rest = source.read(position + place, min(BATCH_HEADER_SIZE, left))
            count, _, _ = dispatch.scan_window(rest, 0, left, rows)
            if not count or rows[0]["problem"] != problems.OK or rows[0]["size"] > _WINDOW:
                continue
            size = int(rows[0]["size"])
            # Skipped, not ended: a smaller batch after it may still be within what is left.
            if not patience.allows(size):
                continue
            whole = data[place : place + size]
            if len(whole) < size:
                whole = source.read(position + place, size)
            if len(whole) < size:  # somebody shortened the file meanwhile
                continue
            matches[0] = False
            dispatch.check_crcs(whole, 0, rows, matches)
            dispatch.check_message_crcs(whole, 0, rows, matches)
            if matches[0]:
                # Sound bytes earn checks as skipped ones do, so that long files lose no patience.
                patience.passed(size)
                return Searched(position + int(place), is_zeros=False)
        patience.passed(step)
        position += step
        # Most damage is short: the first window is small, later ones grow.
        step = min(4 * step, _WINDOW)
    return Searched(None, is_zeros)


def find_following(
    source: FileSource, position: int, stop: int, last_offset: int, patience: ResyncBudget
) -> Searched:
    """Search for the next batch in (position, stop), after bytes at ``position`` that are not one.

    Its offset is above ``last_offset``: one with a lower offset may be part of a value or of a
    wrapper.

    Args:
        source: the file.
        position, stop: byte positions.
        last_offset: that of the last sound batch before.
        patience: as in `find_batch`.
    """
    header = source.read(position, ENTRY_HEADER_SIZE).tobytes()
    low, high = last_offset, last_offset + FAR
    offset = int.from_bytes(header[:8], signed=True)
    is_batch = len(header) == ENTRY_HEADER_SIZE and header[MAGIC_AT] <= 2
    is_batch &= any(header[8:])  # zeros are what a file was made longer by: no offset 0
    if is_batch and low < offset < high:
        # The header of the damaged batch is believed as far as its offset goes: what lies inside of
        # its records has lower offsets, or the same.
        low = offset
    found = find_batch(source, position + 1, stop, (low + 1, high), patience)
    return found._replace(is_zeros=found.is_zeros and not any(header))


def last_sound_offset(rows: npt.NDArray[Any], before: int) -> int:
    """Return the last offset of the last batch without a problem, or ``before``.

    Args:
        rows: BATCH_ROW[m].
        before: what is returned without one.
    """
    if not len(rows):
        return before
    if rows["problem"][-1] == problems.OK:  # nearly always
        return int(rows["last_offset"][-1])
    sound = rows["last_offset"][rows["problem"] == problems.OK]
    return int(sound[-1]) if len(sound) else before
