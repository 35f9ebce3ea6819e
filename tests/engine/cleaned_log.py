"""A log that is cleaned on a watched disk, and all that it may hold after a crash meanwhile."""

from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.cleaner.cleaning import LATER, Cleanable
from tests.engine.file_systems import RecordingFileSystem
from tests.engine.soundness import StoredBatch, all_batches, assert_sound, producers
from tests.log.logs import NOW, LogHome
from workbench.cleaner.cleaner import clean_log
from workbench.cleaner.config import CleanerConfig
from workbench.cleaner.schedule.log_to_clean import log_to_clean
from workbench.file_system.local import LOCAL, FileSystem
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords

SETTINGS: Final[dict[str, Any]] = {
    "cleanup.policy": "compact",
    "segment.bytes": 1500,
    "index.interval.bytes": 150,
    "segment.index.bytes": 480,
    "file.delete.delay.ms": 1000,
}
CONFIG: Final = CleanerConfig(map_memory=1 << 12, buffer_size=900)


class Content(NamedTuple):
    """What of a log has to be all of one moment.

    Attributes:
        batches: the whole log's.
        aborted: its aborted transactions: producer, first and last offset.
    """

    batches: tuple[StoredBatch, ...]
    aborted: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, log: Log) -> "Content":
        """Return what a log holds now."""
        found = log.collect_aborted_transactions(0, log.log_end_offset)
        aborted = tuple((one.producer_id, one.first_offset, one.last_offset) for one in found)
        return cls(tuple(all_batches(log)), aborted)

    def values(self) -> list[tuple[int, bytes | None, bytes | None]]:
        """Return offset, key and value of each record that has a value, control records aside."""
        return [
            (record.offset, record.key, record.value)
            for batch in self.batches
            for records in [MemoryRecords.copy_of(batch.data)]
            if not records.batches().rows["is_control"].any()
            for record in records.records()
            if record.value is not None
        ]


def write(root: Path) -> int:
    """Write the log: groups of segments with a bit of everything; return where it ends."""
    root.mkdir()
    home = Cleanable(root, **SETTINGS)
    for number in range(6):
        home.append_each(number % 2, number % 3, 7)
        home.append(*range(number), value=b"v" * 30)
        home.append(number, value=None)
        home.produce(1, number, 3)
        home.within(2, 4, 5)
        home.within(3, 6)
        if number % 2:
            home.abort(2)
        else:
            home.commit(2)
        home.abort(3)
        home.roll()
    home.append(9, 9)
    home.log.flush(force_active_segment=True)
    home.log.close()
    return home.log.log_end_offset


class Cleanings:
    """Cleans the log of a folder twice, the second time when tombstones have to go.

    Args:
        root: the log directory.
        end: the log's: all is on the disk.
        fs: of it.

    Attributes:
        contents: what the log has held, one more after each swap, if ``fs`` is a recording; they
            are marked in it with their numbers.
    """

    def __init__(self, root: Path, end: int, fs: FileSystem = LOCAL) -> None:
        self._home = LogHome(root, SETTINGS, fs=fs)
        self._end = end
        self._fs = fs
        self.contents: list[Content] = []

    def run(self) -> Log:
        """Open, clean, wait until the old files are gone, clean again."""
        self.log = self._home.open(clean=False, recovery_point=self._end)
        self.log.update_high_watermark(self._end)
        self._note()
        for now in (NOW, LATER):
            end = log_to_clean(self.log, 0, now).first_uncleanable_offset
            clean_log(self.log, 0, end, now, CONFIG, check=self._note)
            self._note()
            self._home.clock.advance(2000)
        return self.log

    def _note(self) -> None:
        if isinstance(self._fs, RecordingFileSystem):
            content = Content.of(self.log)
            if not self.contents or content != self.contents[-1]:
                self.contents.append(content)
                self._fs.mark(len(self.contents) - 1)


def load(root: Path, end: int) -> Log:
    """Load what a crash has left; what it left over must be gone, and the rest be sound."""
    home = LogHome(root, SETTINGS)
    log = home.open(clean=False, recovery_point=end)
    log.update_high_watermark(end)
    left_over = [name for name in home.names if name.endswith((".cleaned", ".swap", ".deleted"))]
    assert left_over == []
    assert log.log_end_offset == end
    assert_sound(log, is_loaded=False)
    return log


def known_producers(log: Log) -> dict[int, Any]:
    """Return what a log knows of its producers, times aside."""
    return {
        producer_id: (entry.producer_epoch, entry.last_sequence, entry.last_offset)
        for producer_id, entry in producers(log).items()
    }
