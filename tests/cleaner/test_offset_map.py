from random import Random

import numpy as np
import pytest

from workbench.cleaner.offset_map import ENTRY_SIZE, OffsetMap


def put(offset_map: OffsetMap, key: bytes, offset: int) -> int:
    return offset_map.put([key], np.array([offset]))


def test_an_unknown_key_has_no_offset_and_a_known_one_its_last() -> None:
    """OM-1: even of keys that are empty, or differ in zeros."""
    offset_map = OffsetMap(100 * ENTRY_SIZE)
    keys = [b"", b"\0", b"\0\0", b"a", b"a\0"]
    assert [offset_map.get(key) for key in keys] == [-1] * 5
    for number, key in enumerate(keys):
        put(offset_map, key, number)
    assert [offset_map.get(key) for key in keys] == [0, 1, 2, 3, 4]
    put(offset_map, b"a", 9)
    assert offset_map.get(b"a") == 9
    put(offset_map, b"a", 7)  # a lower one, too: offsets are not compared
    assert offset_map.get(b"a") == 7
    assert offset_map.size == 5


def test_a_full_map_takes_no_key_not_even_a_known_one() -> None:
    """OM-2: nothing is lost, and nothing looks forever for what is not there."""
    offset_map = OffsetMap(4 * ENTRY_SIZE, 1.0)
    taken = offset_map.put([b"a", b"b", b"a", b"c", b"d", b"a"], np.arange(6))
    assert taken == 5
    assert (offset_map.size, offset_map.latest_offset) == (4, 4)
    assert offset_map.lookup([b"a", b"b", b"c", b"d", b"e"]).tolist() == [2, 1, 3, 4, -1]
    assert put(offset_map, b"a", 9) == 0


def test_the_latest_offset_follows_what_is_put_and_what_is_set() -> None:
    """OM-3."""
    offset_map = OffsetMap(100 * ENTRY_SIZE)
    assert offset_map.latest_offset == -1
    put(offset_map, b"a", 5)
    assert offset_map.latest_offset == 5
    offset_map.latest_offset = 8
    assert offset_map.latest_offset == 8
    offset_map.clear()
    assert (offset_map.latest_offset, offset_map.size, offset_map.get(b"a")) == (-1, 0, -1)


def test_utilization_is_the_share_of_slots_that_are_taken() -> None:
    """OM-4."""
    offset_map = OffsetMap(100 * ENTRY_SIZE + 23)
    assert (offset_map.slots, offset_map.most) == (100, 90)
    for number in range(50):
        put(offset_map, b"%d" % (number % 25), number)
    assert offset_map.utilization == 0.25


def test_a_broker_with_one_mebibyte_and_a_byte_has_room_for_39321_keys() -> None:
    offset_map = OffsetMap(1_048_577)
    assert (offset_map.slots, offset_map.most) == (43690, 39321)


def test_a_map_that_allows_a_single_entry_is_refused() -> None:
    with pytest.raises(ValueError, match="hold no offset map"):
        OffsetMap(ENTRY_SIZE)


def test_the_map_does_what_a_dictionary_with_a_limit_does() -> None:
    for seed in range(30):
        random = Random(seed)
        offset_map = OffsetMap(random.choice([5, 50, 300]) * ENTRY_SIZE, random.choice([0.5, 1.0]))
        known: dict[bytes, int] = {}
        offset = 0
        for _ in range(20):
            keys = [b"%d" % random.randrange(400) for _ in range(random.randrange(30))]
            offsets = np.arange(offset, offset + len(keys))
            expected = 0
            for key in keys:
                if len(known) >= offset_map.most:
                    break
                known[key] = offset + expected
                expected += 1
            assert offset_map.put(keys, offsets) == expected
            offset += len(keys)
        every = [b"%d" % number for number in range(400)]
        assert offset_map.lookup(every).tolist() == [known.get(key, -1) for key in every]
        assert offset_map.size == len(known)


def test_less_memory_is_taken_where_few_keys_can_come() -> None:
    """A log of a few records is cleaned without the memory of a large one being emptied."""
    offset_map = OffsetMap(1 << 40, keys=5)
    for number in range(5):
        assert put(offset_map, b"%d" % number, number) == 1
    assert [offset_map.get(b"%d" % number) for number in range(6)] == [0, 1, 2, 3, 4, -1]
    assert offset_map.utilization == 5 / offset_map.slots
    offset_map.clear()
    assert offset_map.get(b"1") == -1


def test_more_keys_than_were_said_find_the_map_full() -> None:
    offset_map = OffsetMap(100 * ENTRY_SIZE, keys=3)
    keys = [b"%d" % number for number in range(50)]
    taken = offset_map.put(keys, np.arange(50))
    assert 3 <= taken < 50
    assert offset_map.lookup(keys[:taken]).tolist() == list(range(taken))
    assert offset_map.lookup(keys[taken:]).tolist() == [-1] * (50 - taken)
