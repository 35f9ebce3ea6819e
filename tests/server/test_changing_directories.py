"""A directory that is cleaned while it is open: what is kept is read, by clients and by scans."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench as wb
from tests.cleaner.cleaning import Cleanable
from workbench.inspection.findings import Finding
from workbench.record.memory_records import MemoryRecords
from workbench.server.logs.served_log import ServedLog

KEYS = 37
Told = list[Finding | str]


class Cleaned:
    """A log of seven segments, of which a cleaning makes fewer.

    Attributes:
        log: the log.
        kept: the offsets that a cleaning keeps.
        end: the log end offset.
    """

    def __init__(self, root: Path) -> None:
        self.log = Cleanable(root, "orders-0", index_interval_bytes=200, file_delete_delay_ms=0)
        newest: dict[int, int] = {}
        for number in range(7):
            if number:
                self.log.roll()
            start = self.log.log.log_end_offset
            keys = [(number * 30 + at * 7) % KEYS for at in range(30)]
            self.log.append_each(*keys, value=b"%060d" % number)
            if number < 6:
                newest |= {key: start + at for at, key in enumerate(keys)}
        self.end = self.log.log.log_end_offset
        self.kept = {*newest.values(), *range(self.end - 30, self.end)}

    def clean(self) -> None:
        before = len(list(self.log.home.path.glob("*.log")))
        self.log.clean()
        self.log.home.clock.advance(1)  # the files that it replaced are deleted
        assert len(list(self.log.home.path.glob("*.log"))) < before


@pytest.fixture
def cleaned(tmp_path: Path) -> Cleaned:
    return Cleaned(tmp_path)


def served(root: Path) -> tuple[ServedLog, Told]:
    """Return the log as a server has it once a client has asked for its end."""
    told: Told = []
    (log,) = wb.open_log_directory(root).values()
    found = ServedLog(log, told.append)
    assert found.high_watermark > 0
    return found, told


def read(log: ServedLog, start: int, most: int = 500) -> Iterator[int]:
    """Yield the offsets that a consumer gets from an offset on."""
    end = log.high_watermark
    while start < end:
        found = log.read(start, end, most, committed=False, first=True, zstd=True)
        assert found.next_offset > start, "a consumer waits here for ever"
        for part in found.parts:
            for record in MemoryRecords.copy_of(part).records():
                if record.offset >= start:
                    yield record.offset
        start = found.next_offset


def test_a_client_gets_what_a_cleaning_keeps(tmp_path: Path, cleaned: Cleaned) -> None:
    log, told = served(tmp_path)
    assert list(read(log, 0)) == list(range(cleaned.end))
    cleaned.clean()
    assert set(read(log, 0)) == cleaned.kept
    assert told == []


@pytest.mark.parametrize("at", [31, 95, 150])
def test_a_client_continues_after_a_cleaning(tmp_path: Path, cleaned: Cleaned, at: int) -> None:
    """Where it continues in the file is known of the file that was there before."""
    log, told = served(tmp_path)
    early = [offset for offset in read(log, 0) if offset < at]
    assert early == list(range(at))
    cleaned.clean()
    assert set(read(log, at)) == {offset for offset in cleaned.kept if offset >= at}
    assert told == []


def test_times_and_producers_are_looked_up_after_a_cleaning(
    tmp_path: Path, cleaned: Cleaned
) -> None:
    log, told = served(tmp_path)
    cleaned.clean()
    found = log.offset_for_timestamp(0, cleaned.end)
    assert found is not None
    assert found.offset == min(cleaned.kept)
    assert log.max_timestamp() is not None
    assert log.producers() == []
    assert told == []


def test_a_client_is_not_kept_waiting_where_all_records_below_the_end_are_gone(
    tmp_path: Path,
) -> None:
    log = Cleanable(tmp_path, "orders-0", file_delete_delay_ms=0)
    log.append_each(1, 2, 3)
    known, told = served(tmp_path)
    log.roll()
    log.append_each(1, 2, 3)
    log.roll()
    log.append_each(4)
    log.clean()
    log.home.clock.advance(1)
    assert list(read(known, 0)) == []
    assert told == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_scan_gives_what_a_cleaning_keeps(tmp_path: Path, cleaned: Cleaned, workers: int) -> None:
    logs = wb.open_log_directory(tmp_path)
    assert len(logs["orders-0"].segments) == 7
    assert logs["orders-0"].size > 0
    cleaned.clean()
    scan = logs.scan(workers=workers)
    assert scan.to_arrow()["offset"].to_pylist() == sorted(cleaned.kept)
    assert [each.kind for each in scan.findings] == []
