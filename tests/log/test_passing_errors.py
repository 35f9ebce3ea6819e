"""A lack of memory or descriptors fails the read that meets it; the disk is not to blame."""

import errno
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import workbench
from workbench.errors import StorageError
from workbench.file_system.local import FileSystem
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_times import _MEMORY
from workbench.runtime.failures import LogDirFailures


@pytest.mark.parametrize("number", [errno.ENOMEM, errno.EMFILE, errno.ENFILE])
def test_what_a_process_lacks_for_a_while_fails_only_the_read(number: int) -> None:
    failures = LogDirFailures()
    lacks = OSError(number, os.strerror(number))
    with pytest.raises(OSError, match=os.strerror(number)) as error:  # noqa: SIM117 - raised inside
        with failures.guard("data", "read from", changes_nothing=True):
            raise lacks
    assert error.value is lacks
    assert not failures.any_offline
    with pytest.raises(StorageError), failures.guard("data", "roll"):
        raise lacks  # half a change may be there
    assert failures.is_offline("data")


def test_a_lookup_by_time_takes_memory_for_its_records_not_for_its_bytes(tmp_path: Path) -> None:
    """A batch of zeros of 64 MiB could hold nine million records; it holds 64."""
    with closing(Log.open(str(tmp_path / "t-0"))) as log:
        records = [(number, None, bytes(1 << 20)) for number in range(64)]
        log.append_as_leader(MemoryRecords.of(*records, codec="zstd"), 0)
        for asked, offset in ((-3, 63), (5, 5)):
            found = log.offset_for_timestamp(asked)
            assert found is not None
            assert (found.timestamp, found.offset) == (offset, offset)
        kept = (_MEMORY.out.offsets, _MEMORY.out.timestamps)
        assert sum(each.nbytes for each in kept) < 1 << 16


LACKS = """
import os, resource, sys
from contextlib import contextmanager

from workbench.config.log_config import LogConfig
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

@contextmanager
def no_descriptor():
    os.close(first_free := os.dup(0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

def record():
    return MemoryRecords.of((5, b"key", b"value"))

log = Log.open(sys.argv[1], LogConfig.of({"segment.bytes": "200", "retention.bytes": "300"}))
for _ in range(7):
    log.append_as_leader(record(), 0)
with no_descriptor():
    log.append_as_leader(record(), 1)  # writes a leader epoch
    log.flush()
    log.take_producer_snapshot()
    log.truncate_to(7)
    log.append_as_leader(record(), 2)
    log.commit()
    log.delete_old_segments()
    log.rename_directory("t-0.0123456789abcdef0123456789abcdef-delete")
    log.rename_directory("t-0")
    log.close()
print(log.log_start_offset, log.log_end_offset, log.context.failures.any_offline)
"""


def test_what_has_begun_ends_although_no_descriptor_is_left(tmp_path: Path) -> None:
    """Half a truncation, deletion or renaming would fail the disk: files are opened for a while."""
    start, end, is_offline = _run(LACKS, tmp_path / "t-0").split()
    assert (int(end), is_offline) == (8, "False")
    assert int(start) > 0
    records = workbench.open_log_directory(tmp_path).scan().to_arrow()
    assert records["offset"].to_pylist() == list(range(int(start), 8))


class Lacking(FileSystem):
    """A file system of a process that has no descriptors for small files while `lacks`."""

    lacks = False

    def write_atomically(self, path: str, data: bytes) -> None:
        """Fail or write."""
        if self.lacks:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)
        super().write_atomically(path, data)


def test_a_leader_epoch_that_is_not_written_is_not_kept(tmp_path: Path) -> None:
    disk = Lacking()
    with closing(Log.open(str(tmp_path / "t-0"), fs=disk)) as log:
        log.append_as_leader(MemoryRecords.of((5, b"key", b"value")), 0)
        disk.lacks = True
        with pytest.raises(StorageError, match="no record was written"):
            log.append_as_leader(MemoryRecords.of((5, b"key", b"value")), 1)
        assert log.leader_epochs.latest_epoch == 0
        disk.lacks = False
        log.append_as_leader(MemoryRecords.of((5, b"key", b"value")), 1)
        assert (log.leader_epochs.latest_epoch, log.log_end_offset) == (1, 2)
        assert not log.context.failures.any_offline


ROLLS = """
import os, resource, sys
from contextlib import closing

from workbench.config.log_config import LogConfig
from workbench.errors import StorageError
from workbench.log.log import Log
from workbench.record.memory_records import MemoryRecords

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
config = LogConfig.of({"segment.bytes": "100"})
refused, appended = 0, 1
with closing(Log.open(sys.argv[1], config)) as log:
    log.append_as_leader(MemoryRecords.of((5, b"key", b"value")), 0)  # writes the leader epoch, too
    for number in range(36):  # the first use up the descriptors that the process has kept
        record = MemoryRecords.of((5, b"key", b"value"))
        os.close(first_free := os.dup(0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (first_free + number % 12, hard))
        is_refused = False
        try:
            log.append_as_leader(record, 0)
        except StorageError:
            is_refused = True
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        refused += is_refused
        appended += not is_refused
        assert log.log_end_offset == appended
        assert not log.context.failures.any_offline
print(refused, appended)
"""


def test_a_roll_without_descriptors_fails_the_append_and_not_the_disk(tmp_path: Path) -> None:
    """The limit is lowered to each number in turn, so that each opening of the roll fails.

    In a process of its own: other threads of this one open files, too.
    """
    refused, appended = map(int, _run(ROLLS, tmp_path / "t-0").split())
    assert appended > 1
    assert refused > 1
    records = workbench.open_log_directory(tmp_path).scan().to_arrow()
    assert records["offset"].to_pylist() == list(range(appended))


def _run(program: str, folder: Path) -> str:
    """Run a program in a process of its own; return what it printed."""
    words = [sys.executable, "-c", program, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout
