"""Searches: the order of matches, reading them again, progress, bounds, and an early end."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench
from tests.golden.cases import Case
from tests.naive import Record, batch
from workbench.loaders.search.search import Search, pieces_by_time
from workbench.loaders.search.sort_keys import KEY, MOST_KEPT, SIZE, SortKey
from workbench.loaders.search.time_histogram import MOST_BINS, TimeHistogram
from workbench.log_directory import LogDirectory

Golden = Callable[[str], Case]
LOG = "{:020}.log"
START = 1_772_323_200_000


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> LogDirectory:
    """Three partitions of two segments, whose times overlap; some records have no time."""
    root, rng = tmp_path_factory.mktemp("logs"), random.Random(7)
    for partition in range(3):
        folder = root / f"events-{partition}"
        folder.mkdir()
        times = sorted(START + rng.randrange(1_000_000) for _ in range(600))
        times[::50] = [-1] * 12
        records = [
            Record(at, time, b"%d" % (at % 7), b"value %d of %d" % (at, partition))
            for at, time in enumerate(times)
        ]
        for base in (0, 300):
            batches = [batch(records[at : at + 20]) for at in range(base, base + 300, 20)]
            (folder / LOG.format(base)).write_bytes(b"".join(batches))
    return workbench.open_log_directory(root)


def found(search: Search, **how: object) -> list[tuple[int | None, int, int]]:
    """Return time, partition and offset of the matches in an order."""
    numbers = search.matches.arranged(**how)  # type: ignore[arg-type]
    records = search.matches.read(numbers, ["timestamp", "partition", "offset"])
    assert records.places.tolist() == list(range(len(numbers)))
    table = records.table.set_column(0, "timestamp", records.table[0].cast("int64"))
    return [(row["timestamp"], row["partition"], row["offset"]) for row in table.to_pylist()]


def scanned(events: LogDirectory, where: str = "") -> list[tuple[int | None, int, int]]:
    table = events.scan(where=where).to_arrow()
    table = table.set_column(3, "timestamp", table["timestamp"].cast("int64"))
    return [(row["timestamp"], row["partition"], row["offset"]) for row in table.to_pylist()]


def by_time(row: tuple[int | None, int, int]) -> int:
    return -1 if row[0] is None else row[0]


@pytest.mark.parametrize("where", ["", "key=3", "value:/ 1\\d of/ partition:0,2"])
def test_matches_are_merged_by_time(where: str, events: LogDirectory) -> None:
    search = Search(events.scan(where=where))
    search.run()
    wanted = scanned(events, where)
    times = [by_time(row) for row in found(search)]
    assert times == sorted(map(by_time, wanted))
    assert sorted(found(search), key=str) == sorted(wanted, key=str)
    assert found(search, descending=True) == found(search)[::-1]
    assert found(search, order="offset") == sorted(wanted, key=lambda row: row[1:])
    between = (START + 200_000, START + 600_000)
    assert found(search, times=between) == [
        row for row in found(search) if between[0] <= by_time(row) < between[1]
    ]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("sort_key", [KEY, SIZE])
def test_matches_are_sorted_by_key_and_size(
    sort_key: SortKey, golden: Golden, *, descending: bool
) -> None:
    logs = workbench.open_log_directory(golden("4.2.0-compact-nullkeys").directory("before1"))
    search = Search(logs.scan(), sort_key=sort_key)
    search.run()
    columns = ["key", "value", "offset"]
    numbers = search.matches.arranged(sort_key.name, descending=descending)
    rows = search.matches.read(numbers, columns).table.to_pylist()
    wanted = sorted(  # a stable order: of equal ones, the first found comes first either way
        search.matches.read(range(len(numbers)), columns).table.to_pylist(),
        key=lambda row: sorted_by(sort_key, row),
        reverse=descending,
    )
    valued = [row for row in wanted if sort_key is SIZE or row["key"] is not None]
    assert rows == [*valued, *(row for row in wanted if row not in valued)]
    assert len({sorted_by(sort_key, row) for row in rows}) > 3
    assert len(rows) == logs.scan().count()
    with pytest.raises(ValueError, match="did not keep"):
        search.matches.arranged("size" if sort_key is KEY else "key")


def sorted_by(sort_key: SortKey, row: dict[str, Any]) -> Any:
    key, value = row["key"] or b"", row["value"] or b""
    return key[:MOST_KEPT] if sort_key is KEY else len(key) + len(value)


def test_any_rows_can_be_read_again_with_their_contents(events: LogDirectory) -> None:
    search = Search(events.scan())
    search.run()
    numbers = random.Random(3).sample(search.matches.arranged().tolist(), 50)
    rows = search.matches.read(numbers, ["partition", "offset", "value"]).table.to_pylist()
    assert len(rows) == 50
    for row in rows:
        assert row["value"] == b"value %d of %d" % (row["offset"], row["partition"])
    arranged = search.matches.arranged()
    place = search.matches.place_of(events.listing.partitions["events-1"], 17, arranged)
    table = search.matches.read(arranged[place : place + 1], ["partition", "offset"]).table
    assert table.to_pylist() == [{"partition": 1, "offset": 17}]
    assert search.matches.place_of(events.listing.partitions["events-1"], 9999, arranged) == -1


def test_the_newest_are_read_first_when_wanted(events: LogDirectory) -> None:
    oldest, newest = pieces_by_time(events.scan()), pieces_by_time(events.scan(), newest_first=True)
    assert newest == oldest[::-1]
    assert [piece.time for piece in oldest] == sorted(piece.time for piece in oldest)
    search = Search(events.scan(), newest_first=True, most=300)
    search.run()
    assert search.matches.count == 1800
    assert search.matches.listed == 300
    (partition,) = {row[1] for row in found(search)}
    assert {row[2] for row in found(search)} == set(range(300, 600)), partition


def test_more_matches_than_are_listed_are_counted(events: LogDirectory) -> None:
    search = Search(events.scan(where="value:value"), most=10)
    search.run()
    assert (search.matches.count, search.matches.listed, len(found(search))) == (1800, 10, 10)
    assert search.histogram.bins().counts.sum() + search.histogram.without_time == 1800


def test_progress_reaches_the_end(events: LogDirectory) -> None:
    search = Search(events.scan(where="nothing-holds-this"))
    assert (search.status, search.is_over) == ("ready", False)
    search.start()
    search.wait(seconds=30)
    assert (search.status, search.is_over, search.matches.count) == ("done", True, 0)
    assert search.bytes_read == search.bytes_total == sum(each.size for each in events.values())
    assert search.records_read == 1800
    assert search.seconds > 0
    assert found(search) == []


def test_a_search_that_is_canceled_keeps_what_it_found(events: LogDirectory) -> None:
    search = Search(events.scan())
    search.cancel()  # it stops after a chunk: here, the first of six segments
    search.start()
    search.wait(seconds=30)
    assert search.status == "canceled"
    assert len(found(search)) == search.matches.count == 300
    assert search.bytes_read < search.bytes_total


def test_a_search_waits_for_the_first_matches_only(events: LogDirectory) -> None:
    search = Search(events.scan())
    search.start()
    search.wait(matches=5, seconds=30)
    assert search.matches.count >= 5
    search.wait(seconds=30)


def test_damage_is_reported_and_the_rest_is_found(golden: Golden) -> None:
    logs = workbench.open_log_directory(golden("4.2.0-damage-unclean").directory("before"))
    search = Search(logs.scan())
    search.run()
    with pytest.warns(workbench.CorruptDataWarning):
        wanted = logs.scan().count()
    assert search.matches.count == wanted
    assert search.finding_count == len(search.findings) > 0
    records = search.matches.read(search.matches.arranged(), ["offset"])
    assert len(records.table) == wanted


def test_a_segment_that_is_removed_is_a_finding(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "events-0"
    folder.mkdir(parents=True)
    path = folder / LOG.format(0)
    path.write_bytes(batch([Record(0, START, None, b"v")]))
    logs = workbench.open_log_directory(tmp_path / "logs")
    search = Search(logs.scan())
    assert logs["events-0"].segments
    path.unlink()
    search.run()
    assert (search.status, search.matches.count, search.finding_count) == ("done", 0, 1)


def test_matches_in_a_segment_that_is_removed_later_are_not_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "events-0"
    folder.mkdir()
    for at in range(3):
        (folder / LOG.format(at)).write_bytes(batch([Record(at, START + at, None, b"v")]))
    search = Search(workbench.open_log_directory(tmp_path).scan())
    search.run()
    (folder / LOG.format(1)).unlink()
    records = search.matches.read(search.matches.arranged(), ["offset"])
    assert records.table["offset"].to_pylist() == [0, 2]
    assert records.places.tolist() == [0, 2]


def test_old_formats_and_transactions_are_searched(golden: Golden) -> None:
    for case, name in (("k0.10.0-mixed-wrapper", "after"), ("4.2.0-txn", "data")):
        logs = workbench.open_log_directory(golden(case).directory(name))
        for isolation in ("read_uncommitted", "read_committed"):
            scan = logs.scan(isolation_level=isolation, columns=["offset"])
            search = Search(scan)
            search.run()
            read = search.matches.read(search.matches.arranged("offset"), ["topic", "offset"])
            assert read.table.num_rows == search.matches.count == scan.count() > 0


def test_the_histogram_widens_with_the_times() -> None:
    rng = np.random.default_rng(5)
    histogram, every = TimeHistogram(), []
    for span in (10, 1_000, 100_000, 10**9, 10**12):
        times = rng.integers(START, START + span, 500)
        histogram.add(np.append(times, -1))
        every.append(times)
        start, width, counts = histogram.bins()
        assert len(counts) <= MOST_BINS
        assert start % width == 0
        all_times = np.concatenate(every)
        wanted = np.bincount((all_times - start) // width, minlength=len(counts))
        assert counts.tolist() == wanted.tolist()
    assert histogram.without_time == 5
    histogram.add(np.array([0, 2**62]))
    assert histogram.bins().counts.sum() == 2502
