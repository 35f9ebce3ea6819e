"""Where replicas differ, range by range, and which of them to keep."""

from pathlib import Path

import pytest

from tests.comparison.replicas import Written, compare, run, write_replica
from workbench.comparison import ranges
from workbench.comparison.advice import advice, replica_to_keep
from workbench.comparison.ranges import different_ranges


def test_ranges_are_missing_extra_and_different(tmp_path: Path) -> None:
    whole = write_replica(tmp_path / "a", run(0, 20, 0))
    other = write_replica(
        tmp_path / "b", [*run(0, 4, 0), *run(7, 10, 0), *run(10, 12, 0, "x"), *run(12, 15, 0)]
    )
    compared = compare(a=whole, b=other)
    one, two = compared.replica("a"), compared.replica("b")
    found = [("missing", 4, 7), ("different", 10, 12), ("missing", 15, 20)]
    assert different_ranges(two, one) == (tuple(found), None)
    swap = {"missing": "extra", "different": "different"}
    turned = tuple((swap[kind], start, end) for kind, start, end in found)
    assert different_ranges(one, two) == (turned, None)
    assert different_ranges(one, one) == ((), None)


def test_a_gap_at_the_end_of_what_both_cover_is_one_range_with_the_tail(tmp_path: Path) -> None:
    compared = compare(
        a=write_replica(tmp_path / "a", run(0, 9, 0)),
        b=write_replica(tmp_path / "b", run(0, 5, 0)),
    )
    short = different_ranges(compared.replica("b"), compared.replica("a"))
    assert short == ((("missing", 5, 9),), None)


def test_many_ranges_end_the_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "MOST_RANGES", 3)
    every_other = [Written(offset, 1, 0) for offset in range(0, 40, 2)]
    compared = compare(
        a=write_replica(tmp_path / "a", run(0, 40, 0)),
        b=write_replica(tmp_path / "b", every_other),
    )
    found, compared_to = different_ranges(compared.replica("b"), compared.replica("a"))
    assert [each.start for each in found] == [1, 3, 5]
    assert compared_to == 7


def test_a_comparison_can_be_stopped(tmp_path: Path) -> None:
    class Stopped(Exception):  # noqa: N818 - only of this test
        pass

    def stop(_size: int) -> None:
        raise Stopped

    compared = compare(
        a=write_replica(tmp_path / "a", run(0, 9, 0)),
        b=write_replica(tmp_path / "b", run(0, 9, 0)),
    )
    with pytest.raises(Stopped):
        different_ranges(compared.replica("a"), compared.replica("b"), advance=stop)


def test_the_replica_to_keep_loses_the_fewest_committed_offsets(tmp_path: Path) -> None:
    compared = compare(
        old=write_replica(tmp_path / "old", run(0, 20, 0), high_watermark=20),
        new=write_replica(
            tmp_path / "new", [*run(0, 10, 0), *run(10, 12, 2, "x")], high_watermark=10
        ),
    )
    assert compared.ahead == "new"
    assert replica_to_keep(compared).broker == "old"
    assert advice(compared) == (
        "Keep the replica of broker old: it has everything that is known to be committed; 2 offsets"
        " of broker new, perhaps not committed, would be lost."
        " Broker new is ahead by its leader epoch, but as the leader it would lose 10 committed"
        " offsets. Copy the partition directories before a broker starts."
    )


def test_damage_counts_as_lost(tmp_path: Path) -> None:
    sound = write_replica(tmp_path / "sound", run(0, 9, 0), high_watermark=9)
    damaged = write_replica(tmp_path / "damaged", run(0, 10, 0), high_watermark=9)
    assert replica_to_keep(compare(damaged=damaged, sound=sound)).broker == "damaged"
    segment = min((damaged / "orders-0").glob("*.log"))
    data = bytearray(segment.read_bytes())
    data[100] ^= 1
    segment.write_bytes(data)
    compared = compare(damaged=damaged, sound=sound)
    assert replica_to_keep(compared).broker == "sound"
    assert "everything that is known to be committed" in advice(compared)


def test_equal_replicas_and_one_alone_need_no_choice(tmp_path: Path) -> None:
    one = write_replica(tmp_path / "1", run(0, 9, 0), high_watermark=9)
    two = write_replica(tmp_path / "2", run(0, 9, 0), high_watermark=9)
    assert "each can be kept" in advice(compare(one=one, two=two))
    assert advice(compare(one=one)) == "Only broker one has a log of orders-0 here."
