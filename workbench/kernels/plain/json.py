"""The finder of fields in JSON: objects with only those of their fields that are wanted.

The same source runs compiled, see `kernels.json`, and is held equal to Python's `json`.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

DEEPEST: Final = 32  # lists and objects in each other
MOST_NAMES: Final = 256  # names of all objects that a place is in
MOST_FIELDS: Final = 4000  # of an object, with those at any depth
MOST_DIGITS: Final = 200  # of a whole number: with two digits of an exponent, it is a double
LARGEST: Final = 8 << 20  # bytes of an object

_START, _NAME, _FIRST_NAME, _ITEM, _FIRST_ITEM, _AFTER, _DONE = range(7)


def working_memory() -> Int64s:
    """Return the memory that `pick_json_fields` works in."""
    return np.zeros(2 * (DEEPEST + 1) + 3 * MOST_NAMES, np.int64)


def pick_json_fields(
    data: Bytes,
    spans: Int64s,
    names: Bytes,
    name_ends: Int64s,
    memory: Int64s,
    out: Bytes,
    offsets: Int64s,
    is_whole: Any,
) -> Any:
    r"""Copy objects with only the members that have one of some names, as they are written.

    An object is checked to its end. What is not plain is copied whole: what is not a JSON object,
    has a name twice or with a backslash, half of a surrogate pair, a number that a double may not
    hold, or is beyond a limit of this module.

    Args:
        data: uint8[m]
        spans: int64[n, 2]: first byte and end of each value in ``data``.
        names: uint8[...], the names of members, one after the other; ASCII letters in lower case,
            which is as good as upper case.
        name_ends: int64[names], the end of each in ``names``.
        memory: as `working_memory` returns it.
        out: uint8[...], set; has room for the bytes of all spans.
        offsets: int64[n + 1], set: the place in ``out`` of each.
        is_whole: bool[n], set: which values are not plain.

    Returns:
        How many bytes of ``out`` are set.
    """
    kinds = memory[: DEEPEST + 1]
    firsts = memory[DEEPEST + 1 : 2 * (DEEPEST + 1)]
    starts = memory[2 * (DEEPEST + 1) : 2 * (DEEPEST + 1) + MOST_NAMES]
    ends = memory[2 * (DEEPEST + 1) + MOST_NAMES : 2 * (DEEPEST + 1) + 2 * MOST_NAMES]
    hashes = memory[2 * (DEEPEST + 1) + 2 * MOST_NAMES :]
    used: Any = 0
    for row in range(len(spans)):
        at: Any = spans[row, 0]
        end: Any = spans[row, 1]
        begin = used
        offsets[row] = used
        depth = 0
        known = 0  # names of the objects that the place is in
        fields = 0
        copied_from: Any = -1
        state = _START
        is_plain = end - at <= LARGEST
        while is_plain:
            while at < end and (
                data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9
            ):
                at += 1
            if at >= end:
                break
            first: Any = int(data[at])
            if first == 34:  # "
                if state not in (_NAME, _FIRST_NAME, _ITEM, _FIRST_ITEM):
                    is_plain = False
                    break
                before = at
                at += 1
                has_escape = False
                is_plain = False  # until the quote that ends it
                while at < end:
                    byte: Any = int(data[at])
                    if 32 <= byte < 128 and byte not in (34, 92):
                        at += 1
                    elif byte == 34:
                        at += 1
                        is_plain = True
                        break
                    elif byte == 92:  # \
                        has_escape = True
                        if end - at < 2:
                            break
                        byte = int(data[at + 1])
                        if byte != 117:
                            if byte not in (34, 92, 47, 98, 102, 110, 114, 116):
                                break
                            at += 2
                            continue
                        # \u and four digits; a high surrogate with the low one after it.
                        count = 0
                        wanted = 1
                        while count < wanted:
                            if end - at < 6 or data[at] != 92 or data[at + 1] != 117:
                                break
                            code = 0
                            for step in range(2, 6):
                                digit: Any = int(data[at + step])
                                if digit >= 48 and digit <= 57:
                                    code = code * 16 + digit - 48
                                elif (digit | 32) >= 97 and (digit | 32) <= 102:
                                    code = code * 16 + (digit | 32) - 87
                                else:
                                    code = 1 << 20
                            if code >= 1 << 20:
                                break
                            is_low = code >= 0xDC00 and code <= 0xDFFF
                            if is_low != (count == 1):
                                break
                            if code >= 0xD800 and code <= 0xDBFF:
                                wanted = 2
                            count += 1
                            at += 6
                        if count < wanted:
                            break
                    elif byte < 32:
                        break
                    else:
                        # How many bytes follow, and the bounds of the second one (RFC 3629).
                        low, high = 0x80, 0xBF
                        if byte < 0xC2 or byte > 0xF4:
                            break
                        follow = 1
                        if byte >= 0xF0:
                            follow = 3
                            if byte == 0xF0:
                                low = 0x90
                            elif byte == 0xF4:
                                high = 0x8F
                        elif byte >= 0xE0:
                            follow = 2
                            if byte == 0xE0:
                                low = 0xA0
                            elif byte == 0xED:
                                high = 0x9F
                        if end - at <= follow or data[at + 1] < low or data[at + 1] > high:
                            break
                        if follow > 1 and (int(data[at + 2]) & 0xC0) != 0x80:
                            break
                        if follow > 2 and (int(data[at + 3]) & 0xC0) != 0x80:
                            break
                        at += follow + 1
                if not is_plain:
                    break
                if state in (_NAME, _FIRST_NAME):
                    fields += 1
                    if has_escape or known >= MOST_NAMES or fields > MOST_FIELDS:
                        is_plain = False
                        break
                    size = at - before - 2
                    mixed = size
                    for place in range(before + 1, at - 1):
                        mixed = (mixed * 31 + int(data[place])) & 0xFFFFFFFF
                    for other in range(firsts[depth], known):
                        if hashes[other] == mixed and ends[other] - starts[other] == size:
                            is_same = True
                            for step in range(size):
                                if data[starts[other] + step] != data[before + 1 + step]:
                                    is_same = False
                            if is_same:
                                is_plain = False
                    if not is_plain:
                        break
                    hashes[known] = mixed
                    starts[known] = before + 1
                    ends[known] = at - 1
                    known += 1
                    if depth == 1:
                        name_start: Any = 0
                        for name in range(len(name_ends)):
                            if name_ends[name] - name_start == size and copied_from < 0:
                                is_same = True
                                for step in range(size):
                                    letter: Any = int(data[before + 1 + step])
                                    if letter >= 65 and letter <= 90:
                                        letter += 32
                                    if letter != names[name_start + step]:
                                        is_same = False
                                if is_same:
                                    copied_from = before
                            name_start = name_ends[name]
                    while at < end and (
                        data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9
                    ):
                        at += 1
                    if at >= end or data[at] != 58:  # :
                        is_plain = False
                        break
                    at += 1
                    state = _ITEM
                    continue
                state = _AFTER
            elif first in (123, 91):  # { [
                if (state not in (_ITEM, _FIRST_ITEM) and (state != _START or first != 123)) or (
                    depth >= DEEPEST
                ):
                    is_plain = False
                    break
                depth += 1
                kinds[depth] = first
                firsts[depth] = known
                state = _FIRST_NAME if first == 123 else _FIRST_ITEM
                at += 1
                continue
            elif first in (125, 93):  # } ]
                opened = _FIRST_NAME if first == 125 else _FIRST_ITEM
                if depth == 0 or kinds[depth] != first - 2 or state not in (_AFTER, opened):
                    is_plain = False
                    break
                known = firsts[depth]
                depth -= 1
                at += 1
                state = _AFTER if depth > 0 else _DONE
            elif first == 44:  # ,
                if state != _AFTER:
                    is_plain = False
                    break
                state = _NAME if kinds[depth] == 123 else _ITEM
                at += 1
                continue
            else:
                if state not in (_ITEM, _FIRST_ITEM):
                    is_plain = False
                    break
                if first in (116, 110):  # true, null
                    is_plain = end - at >= 4 and (
                        (first == 116 and data[at + 1] == 114 and data[at + 2] == 117
                         and data[at + 3] == 101)
                        or (first == 110 and data[at + 1] == 117 and data[at + 2] == 108
                            and data[at + 3] == 108)
                    )  # fmt: skip
                    at += 4
                elif first == 102:  # false
                    is_plain = end - at >= 5 and (
                        data[at + 1] == 97 and data[at + 2] == 108 and data[at + 3] == 115
                        and data[at + 4] == 101
                    )  # fmt: skip
                    at += 5
                else:
                    if first == 45:  # -
                        at += 1
                    before = at
                    while at < end and data[at] >= 48 and data[at] <= 57:
                        at += 1
                    count = at - before
                    is_plain = count > 0 and count <= MOST_DIGITS
                    if count > 1 and data[before] == 48:
                        is_plain = False
                    if is_plain and at < end and data[at] == 46:  # .
                        at += 1
                        before = at
                        while at < end and data[at] >= 48 and data[at] <= 57:
                            at += 1
                        is_plain = at > before
                    if is_plain and at < end and (data[at] == 101 or data[at] == 69):
                        at += 1
                        if at < end and (data[at] == 43 or data[at] == 45):
                            at += 1
                        before = at
                        while at < end and data[at] >= 48 and data[at] <= 57:
                            at += 1
                        is_plain = at > before and at - before <= 2
                if not is_plain:
                    break
                state = _AFTER
            # A value has ended.
            if depth == 1 and copied_from >= 0:
                out[used] = 123 if used == begin else 44
                used += 1
                shift = copied_from - used
                for place in range(used, used + at - copied_from):
                    out[place] = data[place + shift]
                used += at - copied_from
                copied_from = -1
            elif state == _DONE:
                if used == begin:
                    out[used] = 123
                    used += 1
                out[used] = 125
                used += 1
        is_whole[row] = not is_plain or state != _DONE
        if is_whole[row]:
            used = begin
            shift = spans[row, 0] - used
            for place in range(used, used + spans[row, 1] - spans[row, 0]):
                out[place] = data[place + shift]
            used += spans[row, 1] - spans[row, 0]
    offsets[len(spans)] = used
    return used
