"""The reader of Avro's binary encoding: values to columns of numbers, by a compiled schema.

The same source runs compiled, see `kernels.avro`, and is held equal to `values.avro.reader`, which
reads a value by recursion as Avro's specification has it.

A program is a list of operations that a value is read by, from first to last; arrays and maps loop.
Each operation stores what it reads in the column of its node. Columns are compact: a node has one
entry for each time that it was read, and none where a union took another branch.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

END: Final = 0
BOOLEAN: Final = 1
INT: Final = 2  # a, b: least and largest value
LONG: Final = 3
FLOAT: Final = 4
DOUBLE: Final = 5
BYTES: Final = 6  # a: most bytes
STRING: Final = 7
FIXED: Final = 8  # a: bytes
ENUM: Final = 9  # a: number of symbols
UNION: Final = 10  # a: place in jumps of the first branch; b: number of branches
JUMP: Final = 11  # a: next operation
LOOP: Final = 12  # a: operation after the loop
NEXT: Final = 13

GOOD: Final = 0
CUT_SHORT: Final = 1
OUT_OF_RANGE: Final = 2
NOT_UTF8: Final = 3
TOO_MANY: Final = 4
LEFT_OVER: Final = 5

DEEPEST: Final = 64  # loops in loops
FREE_ITEMS: Final = 4096  # items without bytes that a value may have beside one for each byte


def working_memory(nodes: int) -> Int64s:
    """Return the memory that `decode_avro` works in."""
    return np.zeros(nodes + 3 * (DEEPEST + 1), np.int64)


def decode_avro(
    data: Bytes,
    spans: Int64s,
    program: Int64s,
    jumps: Int64s,
    columns: Int64s,
    counts: Int64s,
    memory: Int64s,
    numbers: Int64s,
    results: Int64s,
    writes: bool,  # noqa: FBT001
) -> None:
    """Read values; what a bad value has stored is taken back.

    Args:
        data: uint8[m]
        spans: int64[n, 2]: first byte and end of each value in ``data``.
        program: int64[operations, 4]: operation, node, a, b.
        jumps: int64[branches of all unions]: operations that branches begin with.
        columns: int64[nodes, 2]: place in ``numbers`` of the node's column, and its room. Text and
            bytes are a start in ``data``, and a length ``room`` further on. Floats are their bits.
            A union is the branch; an array or map its length.
        counts: int64[nodes], set to the entries of each column.
        memory: as `working_memory` returns it.
        numbers: int64[...], set if ``writes``; must have the room that ``counts`` then gives.
        results: int64[n, 2], set: `GOOD` or a problem, and the byte of the value where it is.
        writes: False: only count.
    """
    nodes = len(counts)
    saved = memory[:nodes]
    left = memory[nodes : nodes + DEEPEST + 1]
    slots = memory[nodes + DEEPEST + 1 : nodes + 2 * (DEEPEST + 1)]
    bodies = memory[nodes + 2 * (DEEPEST + 1) : nodes + 3 * (DEEPEST + 1)]
    for index in range(len(spans)):
        start: Any = spans[index, 0]
        at = start
        end: Any = spans[index, 1]
        free = FREE_ITEMS + end - at
        for node in range(nodes):
            saved[node] = counts[node]
        depth = 0
        pc: Any = 0
        problem = GOOD
        while True:
            op = program[pc, 0]
            node = program[pc, 1]
            if op == END:
                if at != end:
                    problem = LEFT_OVER
                break
            if op == JUMP:
                pc = program[pc, 2]
                continue
            place = columns[node, 0] + counts[node]
            value: Any = np.int64(0)
            if op in (FLOAT, DOUBLE):
                size = 4 if op == FLOAT else 8
                if end - at < size:
                    problem = CUT_SHORT
                    break
                for step in range(size):
                    value |= np.int64(data[at + step]) << (8 * step)
                at += size
            elif op == BOOLEAN:
                if at >= end:
                    problem = CUT_SHORT
                    break
                value = np.int64(data[at])
                if value > 1:
                    problem = OUT_OF_RANGE
                    break
                at += 1
            elif op == FIXED:
                size = program[pc, 2]
                if end - at < size:
                    problem = CUT_SHORT
                    break
                value = at
                if writes:
                    numbers[place + columns[node, 1]] = size
                at += size
            elif op not in (LOOP, NEXT):
                # All others begin with a zigzag number.
                shift = 0
                byte = np.int64(0x80)
                before = at
                while byte >= 0x80 and at < end and shift <= 63:
                    byte = np.int64(data[at])
                    value |= (byte & 0x7F) << shift
                    shift += 7
                    at += 1
                if byte >= 0x80:
                    problem = CUT_SHORT if at >= end else OUT_OF_RANGE
                    break
                value = ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1)
                if op == INT:
                    if value < program[pc, 2] or value > program[pc, 3]:
                        at = before
                        problem = OUT_OF_RANGE
                        break
                elif op in (BYTES, STRING):
                    size = value
                    if size < 0 or (op == BYTES and size > program[pc, 2]):
                        at = before
                        problem = OUT_OF_RANGE
                        break
                    if size > end - at:
                        at = before
                        problem = CUT_SHORT
                        break
                    value = at
                    if writes:
                        numbers[place + columns[node, 1]] = size
                    behind = at + size
                    while op == STRING and at < behind:
                        first = np.int64(data[at])
                        if first < 0x80:
                            at += 1
                            continue
                        # How many bytes follow, and the bounds of the second one (RFC 3629).
                        low, high = 0x80, 0xBF
                        if first < 0xC2 or first > 0xF4:
                            problem = NOT_UTF8
                            break
                        follow = 1
                        if first >= 0xF0:
                            follow = 3
                            if first == 0xF0:
                                low = 0x90
                            elif first == 0xF4:
                                high = 0x8F
                        elif first >= 0xE0:
                            follow = 2
                            if first == 0xE0:
                                low = 0xA0
                            elif first == 0xED:
                                high = 0x9F
                        if behind - at <= follow:
                            problem = NOT_UTF8
                            break
                        second = np.int64(data[at + 1])
                        if second < low or second > high:
                            problem = NOT_UTF8
                            break
                        for more in range(2, follow + 1):
                            if np.int64(data[at + more]) & 0xC0 != 0x80:
                                problem = NOT_UTF8
                        if problem != GOOD:
                            break
                        at += follow + 1
                    if problem != GOOD:
                        break
                    at = behind
                elif op == ENUM:
                    if value < 0 or value >= program[pc, 2]:
                        at = before
                        problem = OUT_OF_RANGE
                        break
                elif op == UNION and (value < 0 or value >= program[pc, 3]):
                    at = before
                    problem = OUT_OF_RANGE
                    break
            if op in (LOOP, NEXT):
                if op == LOOP:
                    depth += 1
                    left[depth] = 0
                    slots[depth] = counts[node]
                    bodies[depth] = pc
                    if writes:
                        numbers[place] = 0
                    counts[node] += 1
                else:
                    left[depth] -= 1
                if left[depth] == 0:
                    shift = 0
                    byte = np.int64(0x80)
                    before = at
                    while byte >= 0x80 and at < end and shift <= 63:
                        byte = np.int64(data[at])
                        value |= (byte & 0x7F) << shift
                        shift += 7
                        at += 1
                    if byte >= 0x80:
                        problem = CUT_SHORT if at >= end else OUT_OF_RANGE
                        break
                    value = ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1)
                    if value < 0:  # the size of the block in bytes follows
                        value = -value
                        while at < end and np.int64(data[at]) >= 0x80:
                            at += 1
                        if at >= end:
                            problem = CUT_SHORT
                            break
                        at += 1
                    # An item of no byte is a way to ask for memory without end.
                    if value < 0 or value > end - at + free:
                        at = before
                        problem = TOO_MANY
                        break
                    if value > end - at:
                        free -= value - (end - at)
                    left[depth] = value
                    if writes:
                        numbers[columns[program[bodies[depth], 1], 0] + slots[depth]] += value
                if left[depth] == 0:
                    pc = program[bodies[depth], 2]
                    depth -= 1
                else:
                    pc = bodies[depth] + 1
                continue
            if writes:
                numbers[place] = value
            counts[node] += 1
            pc = jumps[program[pc, 2] + value] if op == UNION else pc + 1
        results[index, 0] = problem
        results[index, 1] = at - start
        if problem != GOOD:
            for node in range(nodes):
                counts[node] = saved[node]


def gather_bytes(data: Bytes, starts: Int64s, offsets: Int64s, out: Bytes) -> None:
    """Copy pieces of bytes one after the other.

    Args:
        data: uint8[m]
        starts: int64[n], the first byte of each piece in ``data``.
        offsets: int64[n + 1], the place of each piece in ``out``.
        out: uint8[offsets[n]], set.
    """
    for index in range(len(starts)):
        at = offsets[index]
        start = starts[index] - at
        for place in range(at, offsets[index + 1]):
            out[place] = data[start + place]
