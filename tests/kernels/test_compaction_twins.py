"""The kernels of compaction and their plain twins: the same places, tables, decisions and bytes."""

import random
from itertools import accumulate, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.twins import as_array, spans_of
from tests.naive import Record, batch, message, record_bytes, varint
from tests.strategies import batches, logs
from workbench.cleaner.filtering import rebuilt_batch
from workbench.kernels import dispatch
from workbench.kernels.plain.checksum import crc32c
from workbench.kernels.plain.compaction import key_table as plain_key_table
from workbench.kernels.plain.compaction import locate as plain_locate
from workbench.kernels.plain.compaction import retain as plain_retain
from workbench.kernels.plain.compaction.siphash import siphash
from workbench.kernels.plain.reading import decode as plain_decode
from workbench.kernels.plain.reading import scan as plain_scan
from workbench.kernels.reading.outputs import OUT_OF_ROOM, no_outputs
from workbench.layout import compaction, problems
from workbench.layout.batch_row import BATCH_ROW
from workbench.layout.compaction import BATCH_OUTCOME, FACTS, RECORD_PLACE
from workbench.record.compaction.key_table import places_of_keys
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_records import ALL_COLUMNS, columns_of

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]

SECRET = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
SUPERSEDED = 20
PARTS = [
    record_bytes(record, 0, 10)
    for record in (
        Record(0, 12, b"key", b"value", ((b"h", b"1"), (b"i", None))),
        Record(1, 25, None, b""),
        Record(2, -1, b"", None),
    )
]
ALL_ROUND = b"".join(PARTS)


def rows_of(data: bytes) -> Any:
    rows = np.zeros(64, BATCH_ROW)
    count, _, _ = plain_scan.scan_window(as_array(data), 0, len(data), rows)
    return rows[: int(count)]


def superseded(twin: Any, rows: Any, marks: Bytes, origin: int) -> list[bool]:
    found = np.zeros(len(rows), np.bool_)
    twin.superseded_batches(rows, marks, origin, found)
    return found.tolist()


def locate_both(
    data: bytes,
    rows: Any,
    spans: Longs,
    room: int = 64,
    used: int = 0,
    marks: tuple[Bytes, int] = (np.zeros(0, np.uint8), 0),
) -> tuple[tuple[int, ...], Any]:
    """Locate records with both twins; return the answer and the places."""
    found = []
    for twin in (dispatch, plain_locate):
        places = np.zeros(room, RECORD_PLACE)
        answer = twin.locate_records(
            as_array(data).copy(), spans, rows, 0, len(rows), places, used, *marks
        )
        found.append((tuple(map(int, answer)), places[: int(answer[0])].tolist(), places))
    assert found[0][:2] == found[1][:2]
    answer, _, places = found[0]
    return answer, places[: answer[0]]


@given(data=logs)
def test_batches_are_surveyed_alike(data: bytes) -> None:
    rows = rows_of(data)
    for end in range(len(rows) + 1):
        found = [
            tuple(map(int, twin.survey_batches(rows[:end]))) for twin in (dispatch, plain_locate)
        ]
        assert found[0] == found[1]


@given(data=st.lists(batches(codec=0), max_size=4).map(b"".join))
def test_records_are_located_alike_and_where_decoding_finds_them(data: bytes) -> None:
    rows = rows_of(data)
    answer, places = locate_both(data, rows, spans_of(rows))
    assert answer[2] == problems.OK
    again = locate_both(data, rows, np.empty((0, 2), np.int64))
    assert again[1].tolist() == places.tolist()
    for index in range(len(rows)):
        columns = columns_of(as_array(data).copy(), rows[index : index + 1], ALL_COLUMNS)
        mine = places[places["batch"] == index]
        assert columns.keys is not None
        assert columns.values is not None
        assert mine["offset"].tolist() == columns.offsets.tolist()
        assert mine["timestamp"].tolist() == columns.timestamps.tolist()
        assert mine["is_tombstone"].tolist() == columns.values.is_null().tolist()
        assert mine["is_shortest"].all()
        assert mine["index"].tolist() == list(range(len(columns)))
        keys = [
            None if size < 0 else data[start : start + size]
            for start, size in zip(mine["key_start"], mine["key_size"], strict=True)
        ]
        assert keys == [columns.keys.item(at) for at in range(len(columns))]


@given(data=st.lists(batches(codec=0), max_size=4).map(b"".join), seed=st.integers(0))
def test_superseded_records_are_passed_over_and_the_others_located_as_ever(
    data: bytes, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    rows = rows_of(data)
    _, places = locate_both(data, rows, spans_of(rows))
    marks = chance.integers(0, 256, chance.integers(0, 20), np.uint8)
    origin = int(chance.choice(places["offset"])) - 3 if len(places) else 0
    delta = places["offset"] - origin
    is_marked = (delta >= 0) & (delta < 4 * len(marks))
    bits = np.zeros(len(places), np.uint8)
    bits[is_marked] = marks[delta[is_marked] // 4] >> (2 * (delta[is_marked] % 4)).astype(np.uint8)
    answer, left = locate_both(data, rows, spans_of(rows), marks=(marks, origin))
    assert answer[1:4] == (len(rows), problems.OK, 0)
    assert answer[4] == len(places) - len(left)
    assert left.tolist() == places[bits & 2 == 0].tolist()


@given(data=logs, seed=st.integers(0))
def test_batches_whose_records_are_all_superseded_are_found_alike(data: bytes, seed: int) -> None:
    chance = np.random.default_rng(seed)
    rows = rows_of(data)
    rows = rows[rows["magic"] == 2]
    chosen = chance.random(len(rows)) < 0.5
    marks, origin = np.zeros(200, np.uint8), int(min(rows["base_offset"].tolist(), default=0)) - 2
    for row in rows[chosen]:
        first = int(row["base_offset"]) - origin
        for delta in range(first, min(first + int(row["record_count"]), 4 * len(marks))):
            marks[delta // 4] |= 2 << 2 * (delta % 4)
    found = [superseded(twin, rows, marks, origin) for twin in (dispatch, plain_locate)]
    assert found[0] == found[1]
    for row, is_found in zip(rows, found[0], strict=True):
        offsets = np.arange(int(row["base_offset"]), int(row["last_offset"]) + 1) - origin
        are_marked = len(offsets) == row["record_count"] > 0 and all(
            0 <= delta < 4 * len(marks) and marks[delta // 4] >> 2 * (delta % 4) & 2
            for delta in offsets.tolist()
        )
        assert is_found == are_marked


def test_records_cut_at_every_byte_are_located_alike() -> None:
    ends = [61 + size for size in accumulate(map(len, PARTS), initial=0)]
    for count in (-1, 0, 1, 2, 3, 4, 2**31 - 1):
        data = batch([], payload=ALL_ROUND, count=count)
        rows = rows_of(data)
        for end in range(61, len(data) + 1):
            answer, _ = locate_both(data, rows, np.array([[61, end]]))
            assert (answer[2] == problems.OK) == (
                count == 0 or (0 < count < 4 and end == ends[count])
            )


def test_a_table_of_places_that_is_full_says_so() -> None:
    data = batch([], payload=ALL_ROUND, count=3) * 2
    rows = rows_of(data)
    answer, _ = locate_both(data, rows, spans_of(rows), room=5)
    assert answer[:3] == (3, 1, OUT_OF_ROOM)
    assert locate_both(data, rows[:1], spans_of(rows), room=5, used=3)[0][2] == OUT_OF_ROOM


@pytest.mark.parametrize("seed", range(3))
def test_changed_records_are_located_alike_and_refused_as_decoding_does(seed: int) -> None:
    chance = random.Random(seed)
    shortest = set()
    for _ in range(1500):
        changed = bytearray(ALL_ROUND)
        changed[chance.randrange(len(changed))] = chance.choice((0, 1, 2, 3, 0x7F, 0x80, 0xFF))
        if chance.random() < 0.5:
            changed.insert(chance.randrange(len(changed)), chance.choice((0, 0x80, 1)))
        data = batch([], payload=bytes(changed), count=3)
        rows = rows_of(data)
        spans = spans_of(rows)
        (used, row, code, position, passed), places = locate_both(data, rows, spans)
        out = no_outputs()._replace(
            offsets=np.zeros(4, np.int64), timestamps=np.zeros(4, np.int64),
            batch=np.zeros(4, np.int32),
        )  # fmt: skip
        decoded = plain_decode.decode_records(as_array(data), spans, rows, 0, 1, 0, out)
        assert (row, code, position) == tuple(map(int, decoded))
        assert used == (3 if code == problems.OK else 0)
        assert passed == 0
        shortest.update(places["is_shortest"].tolist())
    assert shortest == {True, False}


def test_numbers_of_one_byte_two_and_three_are_located_alike() -> None:
    """Zigzag numbers take a byte up to 63, and two up to 8191."""
    edges = (0, 63, 64, 8191, 8192)
    for offset, time, key, value in product((-65, -64, -2, *edges), edges, edges, edges):
        record = Record(offset, time, b"k" * key, b"v" * value)
        data = batch([], payload=record_bytes(record, 0, 0), count=1)
        answer, places = locate_both(data, rows_of(data), np.empty((0, 2), np.int64))
        assert answer[2] == problems.OK
        assert places["offset"].tolist() == [offset]
        assert places["key_size"].tolist() == [key]
        assert places["end"].tolist() == [len(data)]
        assert places["is_shortest"].tolist() == [offset >= -1]


def test_numbers_that_are_longer_than_need_be_are_noticed() -> None:
    """A builder would not write them so: 0 as `80 00`, a size of -2 as null."""
    usual = [b"\0", b"\0", b"\0", b"\1", b"\1", b"\0"]
    odd = {2: b"\x80\0", 3: b"\x81\0", 4: b"\3", 5: b"\x80\0"}
    for place, number in {**odd, 0: b"\0"}.items():
        parts = [number if index == place else part for index, part in enumerate(usual)]
        record = b"".join(parts)
        data = batch([], payload=varint(len(record)) + record, count=1)
        answer, places = locate_both(data, rows_of(data), spans_of(rows_of(data)))
        assert answer[2] == problems.OK
        assert places["is_shortest"].tolist() == [place == 0]
        assert places["key_size"].tolist() == [-1]


# --- keys ------------------------------------------------------------------------------------


def test_sums_are_those_of_the_reference() -> None:
    """The first and last of the vectors that come with SipHash."""
    sums = {
        0: "a3817f04ba25a8e66df67214c7550293",
        1: "da87c1d86b99af44347659119b22fc45",
        63: "5150d1772f50834a503e069a973fbd7c",
    }
    for size, wanted in sums.items():
        halves = siphash(bytes(range(size)), SECRET)
        assert b"".join(half.to_bytes(8, "little") for half in halves).hex() == wanted


keys_of_any_size = st.lists(
    st.binary(max_size=20) | st.binary(min_size=30, max_size=90), max_size=70
)


@given(st.lists(st.none() | st.binary(max_size=40), max_size=20))
def test_keys_are_summed_alike(keys: list[bytes | None]) -> None:
    data, places = places_of_keys([key or b"" for key in keys], np.arange(len(keys)))
    places["key_size"][[key is None for key in keys]] = -1
    both = [np.zeros((2, len(keys)), np.int64) for _ in range(2)]
    for module, sums in zip((dispatch, plain_key_table), both, strict=True):
        module.sum_keys(data, places, *SECRET, sums)
    assert both[0].tolist() == both[1].tolist()
    halves = [siphash(key or b"", SECRET) for key in keys]
    assert both[0].view(np.uint64).T.tolist() == [list(each) for each in halves]


@given(keys=keys_of_any_size, slots=st.sampled_from([2, 3, 17, 200]), data=st.data())
def test_keys_are_put_and_found_alike(keys: list[bytes], slots: int, data: st.DataObject) -> None:
    """With marks, what is superseded is the same; only by which offset is not known."""
    offsets = np.arange(len(keys)) * 2
    if data.draw(st.booleans()):
        offsets = offsets[::-1].copy()
    content, places = places_of_keys(keys, offsets)
    for index in range(0, len(keys), 7):
        places["key_size"][index] = -1
    start, room = data.draw(st.integers(0, 9)), data.draw(st.integers(0, slots))
    marked, origin = data.draw(st.integers(0, 40)), data.draw(st.integers(0, 20))
    end = int(offsets[len(keys) // 2]) if keys else 0
    answers = []
    for twin in (dispatch, plain_key_table):
        table, marks = np.zeros(3 * slots, np.int64), np.zeros(marked, np.uint8)
        put = twin.put_keys(
            content, places, len(keys), start, table, room, *SECRET, marks, origin, -1
        )
        found, quickly = np.zeros((2, len(keys)), np.int64)
        for used, into in ((marks[:0], found), (marks, quickly)):
            twin.find_keys(content, places, len(keys), end, table, *SECRET, used, origin, into)
        if put[2] != -2:
            assert (quickly > offsets).tolist() == (found > offsets).tolist()
        answers.append(
            (tuple(map(int, put)), table.tolist(), marks.tolist(), found.tolist(), quickly.tolist())
        )
    assert answers[0] == answers[1]


# --- what is kept ----------------------------------------------------------------------------


def reasons_at_random(chance: np.random.Generator) -> Bytes:
    table: Bytes = chance.choice(np.array([1, 5, SUPERSEDED, 22], np.uint8), (4, FACTS))
    return table


def decide_both(rows: Any, places: Any, chance: np.random.Generator) -> tuple[Any, Bytes]:
    """Decide with both twins, by anything; return outcomes and reasons."""
    found = np.where(chance.random(len(places)) < 0.4, places["offset"] + 1, -1)
    given_ = np.zeros(len(rows), BATCH_OUTCOME)
    given_["rule"] = chance.integers(0, 4, len(rows))
    given_["keeping"] = chance.integers(0, 3, len(rows))
    given_["sets_horizon"] = chance.random(len(rows)) < 0.2
    reasons = reasons_at_random(chance)
    end = int(places["offset"].max()) if len(places) else 0
    answers = []
    for twin in (dispatch, plain_retain):
        outcomes = given_.copy()
        chosen = np.zeros(len(places), np.uint8)
        newer = np.zeros(len(places), np.int64)
        totals = twin.decide_batches(
            rows, places, found, end, reasons, SUPERSEDED, 77, outcomes, 0, len(rows), chosen, newer
        )
        answers.append((outcomes, chosen, newer.tolist(), tuple(map(int, totals))))
    assert answers[0][0].tolist() == answers[1][0].tolist()
    assert answers[0][1].tolist() == answers[1][1].tolist()
    assert answers[0][2:] == answers[1][2:]
    return answers[0][:2]


def write_both(
    data: bytes, rows: Any, places: Any, outcomes: Any, chosen: Bytes, room: int | None = None
) -> tuple[tuple[int, ...], bytes, Any]:
    """Write with both twins; return the answer, the bytes and the outcomes."""
    source = as_array(data).copy()
    size = room if room is not None else len(data) + 61 * len(rows) + 16 * len(places)
    answers = []
    for twin in (dispatch, plain_retain):
        out, mine = np.full(3 + size + 8, 0xA5, np.uint8), outcomes.copy()
        answer = twin.write_batches(
            source, source, rows, places, 0, chosen, SUPERSEDED, mine, 0, len(rows),
            out[: 3 + size], 3,
        )  # fmt: skip
        assert (out[:3] == 0xA5).all()
        assert (out[3 + size :] == 0xA5).all()
        answers.append((tuple(map(int, answer)), out[3 : int(answer[0])].tobytes(), mine))
    assert answers[0][:2] == answers[1][:2]
    assert answers[0][2].tolist() == answers[1][2].tolist()
    return answers[0]


@given(data=st.lists(batches(codec=0), min_size=1, max_size=4).map(b"".join), seed=st.integers(0))
def test_what_stays_is_decided_and_written_alike_and_as_the_builder_would(
    data: bytes, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    rows = rows_of(data)
    _, places = locate_both(data, rows, spans_of(rows))
    outcomes, chosen = decide_both(rows, places, chance)
    (_, _, reached, code), written, outcomes = write_both(data, rows, places, outcomes, chosen)
    assert code in {problems.OK, compaction.UNUSUAL}
    parts = MemoryRecords.copy_of(written).batches().rows
    at = 0
    for index in range(reached):
        outcome = outcomes[index]
        if outcome["verdict"] == compaction.REMOVED:
            continue
        part = parts[at]
        start, end = int(part["position"]), int(part["position"] + part["size"])
        assert part["size"] == outcome["new_size"]
        assert crc32c(as_array(written[start + 21 : end])) == part["crc"]
        if outcome["verdict"] == compaction.REBUILT:
            columns = columns_of(as_array(data).copy(), rows[index : index + 1], ALL_COLUMNS)
            picks = np.flatnonzero(chosen[places["batch"] == index] < SUPERSEDED)
            wanted = rebuilt_batch(rows[index], columns, picks, int(outcome["delete_horizon"]))
            assert written[start:end] == wanted.tobytes()
        at += 1
    assert at == len(parts)


@given(data=st.lists(batches(codec=0), min_size=1, max_size=3).map(b"".join), seed=st.integers(0))
def test_an_output_without_room_is_left_alike(data: bytes, seed: int) -> None:
    chance = np.random.default_rng(seed)
    rows = rows_of(data)
    _, places = locate_both(data, rows, spans_of(rows))
    outcomes, chosen = decide_both(rows, places, chance)
    (_, _, _, code), written, _ = write_both(data, rows, places, outcomes, chosen)
    if written and code == problems.OK:
        answer, _, _ = write_both(data, rows, places, outcomes, chosen, room=len(written) - 1)
        assert answer[3] == OUT_OF_ROOM


def test_old_batches_and_odd_fields_are_for_the_builder() -> None:
    record = Record(5, 7, b"k", b"v")
    one = record_bytes(record, 5, 7)
    odd = (
        message(1, record),
        batch([record], attributes=16),
        batch([record], producer_id=3),
        batch([record], producer_id=3, producer_epoch=0),
        batch([record, record]),
        batch([record], base_offset=5, last_offset=4, payload=one),
        batch([record], base_timestamp=-9, payload=one),
    )
    for data in odd:
        rows = rows_of(data)
        places = np.zeros(1, RECORD_PLACE)
        if rows["magic"][0] == 2:
            _, places = locate_both(data, rows, spans_of(rows))
        outcomes = np.zeros(1, BATCH_OUTCOME)
        outcomes["verdict"], outcomes["count"] = compaction.REBUILT, len(places)
        outcomes["delete_horizon"], outcomes["kept"] = -1, len(places)
        outcomes["max_offset"] = 5
        chosen = np.ones(len(places), np.uint8)
        answer, written, _ = write_both(data, rows, places, outcomes, chosen)
        assert (answer[2:], written) == ((0, compaction.UNUSUAL), b"")


def test_a_batch_is_sealed_alike() -> None:
    whole = batch([Record(5, 7, b"k", b"v"), Record(6, 7, b"l", b"")])
    for twin in (dispatch, plain_retain):
        data = as_array(b"\xa5" + whole + b"\xa5").copy()
        data[9:13], data[18:22] = 0, 0
        twin.seal_batch(data, 1, 1 + len(whole))
        assert data.tobytes() == b"\xa5" + whole + b"\xa5"
