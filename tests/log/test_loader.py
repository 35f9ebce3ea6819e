"""Loading a log after a clean shutdown and after a crash: segments, offsets, indexes."""

import os
from pathlib import Path

import pytest

from tests.log.folder import Folder, batch, flip, keys, snapshots, three_segments
from workbench.errors import CorruptRecordError, UnsupportedFormatError
from workbench.file_system.local import File, FileSystem
from workbench.log.loading.load_segments import offset_of
from workbench.log.log import Log

# After a clean shutdown


def test_after_a_clean_stop_nothing_is_recovered(tmp_path: Path) -> None:
    """LO-2: the recovery point becomes the log's end, whatever the checkpoint says."""
    folder = Folder(tmp_path)
    three_segments(folder)
    flip(folder.file("log", 0), 70)
    loaded = folder.load(clean=True, recovery_point=0)
    assert loaded.offsets == (0, 15, 15)
    assert loaded.bases == [0, 5, 10]
    assert loaded.told("segment recovered") == []


def test_the_active_segment_has_room_in_its_indexes_again(tmp_path: Path) -> None:
    folder = Folder(tmp_path, settings={"segment.index.bytes": 1000})
    three_segments(folder)
    assert folder.file("index", 10).stat().st_size == 4 * 8
    loaded = folder.load(clean=True)
    assert folder.file("index", 10).stat().st_size == 1000
    assert folder.file("timeindex", 10).stat().st_size == 996
    assert folder.file("index", 5).stat().st_size == 4 * 8
    assert loaded.segments.active.offset_index.max_entries == 125


def test_a_folder_without_segments_gets_an_empty_one(tmp_path: Path) -> None:
    """UL-63."""
    loaded = Folder(tmp_path).load(clean=True)
    assert loaded.offsets == (0, 0, 0)
    assert loaded.bases == [0]


def test_without_segments_the_log_begins_at_the_checkpointed_start(tmp_path: Path) -> None:
    """UL-63."""
    loaded = Folder(tmp_path).load(clean=True, log_start=500)
    assert loaded.offsets == (500, 0, 500)
    assert loaded.bases == [500]


def test_without_the_first_segments_the_log_begins_at_the_next(tmp_path: Path) -> None:
    """LO-23."""
    folder = Folder(tmp_path)
    three_segments(folder)
    folder.file("log", 0).unlink()
    loaded = folder.load(clean=True)
    assert loaded.offsets.log_start_offset == 5
    assert not folder.file("index", 0).exists()


def test_garbage_behind_the_last_batch_stops_the_broker_after_a_clean_stop(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    three_segments(folder)
    with folder.file("log", 10).open("ab") as file:
        file.write(bytes(18))
    with pytest.raises(CorruptRecordError) as caught:
        folder.load(clean=True)
    assert caught.value.path == str(folder.file("log", 10))


def test_an_unfinished_batch_at_the_end_stays_after_a_clean_stop(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    three_segments(folder)
    with folder.file("log", 10).open("ab") as file:
        file.write(bytes(batch(15))[:40])
    assert folder.load(clean=True).offsets.next_offset == 15


def test_an_index_that_points_behind_the_data_makes_the_segment_seem_empty(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    three_segments(folder)
    entry = (100).to_bytes(4) + (1 << 20).to_bytes(4)
    folder.file("index", 10).write_bytes(entry)
    assert folder.load(clean=True).offsets.next_offset == 10


# After a crash


def test_after_a_crash_the_recovery_point_stays_until_the_next_flush(tmp_path: Path) -> None:
    """LO-3."""
    folder = Folder(tmp_path)
    three_segments(folder)
    before = {name: (folder.path / name).read_bytes() for name in folder.names}
    loaded = folder.load(recovery_point=7)
    assert loaded.offsets == (0, 7, 15)
    assert loaded.keys == keys(0, 15)
    loaded.close()
    after = {name: (folder.path / name).read_bytes() for name in before}
    assert after == before


def test_a_recovery_point_behind_the_end_becomes_the_end(tmp_path: Path) -> None:
    """LO-3."""
    folder = Folder(tmp_path)
    three_segments(folder)
    loaded = folder.load(recovery_point=1000)
    assert loaded.offsets.recovery_point == 15
    assert [step.numbers["base_offset"] for step in loaded.told("segment recovered")] == [10]


def test_segments_from_the_one_with_the_recovery_point_are_recovered(tmp_path: Path) -> None:
    """LO-4."""
    folder = Folder(tmp_path)
    three_segments(folder)
    loaded = folder.load(recovery_point=7)
    recovered = loaded.told("segment recovered")
    assert [step.numbers["base_offset"] for step in recovered] == [5, 10]
    assert "the recovery point is 7" in recovered[0].reason
    assert loaded.remaining == [2, 1, 0]


def test_what_follows_a_damaged_batch_goes_with_all_later_segments(tmp_path: Path) -> None:
    """LO-15, LO-16."""
    folder = Folder(tmp_path)
    three_segments(folder)
    size = len(bytes(batch(5)))
    flip(folder.file("log", 5), 2 * size + 70)
    loaded = folder.load()
    assert loaded.keys == keys(0, 7)
    assert loaded.bases == [0, 5]
    assert loaded.offsets == (0, 0, 7)
    (cut,) = [step for step in loaded.told("segment recovered") if step.numbers["cut"]]
    assert cut.numbers == {"base_offset": 5, "size": 5 * size, "cut": 3 * size}
    assert "00000000000000000010.log.deleted" in folder.names
    folder.delete_later()
    assert folder.names_of(".deleted") == []


@pytest.mark.parametrize("garbage", [bytes(18), bytes(11), os.urandom(300), b"\xff" * 100])
def test_garbage_behind_the_last_batch_is_cut(tmp_path: Path, garbage: bytes) -> None:
    """LO-15."""
    folder = Folder(tmp_path)
    three_segments(folder)
    sound = folder.file("log", 10).read_bytes()
    folder.file("log", 10).write_bytes(sound + garbage)
    loaded = folder.load(recovery_point=10)
    assert loaded.keys == keys(0, 15)
    assert folder.file("log", 10).read_bytes() == sound


def test_indexes_full_of_garbage_are_built_anew_where_a_segment_is_recovered(
    tmp_path: Path,
) -> None:
    """LO-10."""
    folder = Folder(tmp_path)
    three_segments(folder)
    names = [name for name in folder.names if name.endswith("index")]
    sound = {name: (folder.path / name).read_bytes() for name in names}
    for name in names:
        (folder.path / name).write_bytes(os.urandom(len(sound[name])))
    garbage = {name: (folder.path / name).read_bytes() for name in names}
    folder.load(recovery_point=5).close()
    for name, data in sound.items():
        wanted = garbage[name] if offset_of(name) == 0 else data
        assert (folder.path / name).read_bytes() == wanted, name


@pytest.mark.parametrize("clean", [True, False])
def test_a_log_that_ends_before_its_start_begins_anew_there(tmp_path: Path, *, clean: bool) -> None:
    """LO-16, LO-17: after a clean shutdown an empty snapshot is made at the new start."""
    folder = Folder(tmp_path)
    three_segments(folder)
    folder.file("snapshot", 5).write_bytes(b"")
    loaded = folder.load(clean=clean, log_start=5000)
    assert loaded.offsets == (5000, 0, 5000)
    assert loaded.bases == [5000]
    assert folder.names_of(".log") == ["00000000000000005000.log"]
    assert folder.file("index", 5000).exists()
    assert folder.file("timeindex", 5000).exists()
    assert snapshots(folder) == ([5000] if clean else [])
    assert len(folder.names_of(".log.deleted")) == 3
    assert loaded.epochs.latest_epoch is None
    (step,) = {step.reason for step in loaded.told("segment marked deleted")}
    assert step == "the log end offset 15 is below the log start offset 5000"


def test_snapshots_written_after_such_a_start_are_not_removed_with_the_old_ones(
    tmp_path: Path,
) -> None:
    """LO-17."""
    folder = Folder(tmp_path)
    three_segments(folder)
    folder.load(clean=True).close()
    assert folder.names_of(".snapshot") != []
    loaded = folder.load(log_start=5000)
    loaded.producers.update_map_end_offset(5005)
    loaded.producers.take_snapshot()
    folder.delete_later()
    assert folder.names_of(".snapshot") == ["00000000000000005005.snapshot"]


def test_an_empty_active_segment_gets_its_indexes(tmp_path: Path) -> None:
    """LO-14."""
    folder = Folder(tmp_path)
    three_segments(folder)
    folder.file("log", 15).write_bytes(b"")
    loaded = folder.load(recovery_point=15)
    assert loaded.bases == [0, 5, 10, 15]
    assert folder.file("index", 15).exists()
    assert loaded.offsets == (0, 15, 15)


def test_offsets_that_fall_empty_the_segment(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write_segment(0, batch(0), batch(1))
    folder.write_raw(5, batch(5), batch(9), batch(6), batch(7))
    folder.write_segment(20, batch(20))
    loaded = folder.load()
    assert loaded.keys == keys(0, 2)
    assert loaded.bases == [0, 5]
    assert loaded.offsets.next_offset == 5
    (step,) = loaded.told("segment emptied")
    assert step.where == str(folder.file("log", 5))


def test_when_the_disk_refuses_no_record_is_cut(tmp_path: Path) -> None:
    """Kafka empties the segment here, as where offsets fall."""

    class FullDisk(FileSystem):
        def create(self, path: str) -> File:
            if path.endswith(".snapshot"):
                raise OSError(28, "No space left on device", path)
            return super().create(path)

    folder = Folder(tmp_path)
    three_segments(folder)
    folder.context.fs = FullDisk()
    sizes = {name: (folder.path / name).stat().st_size for name in folder.names_of(".log")}
    with pytest.raises(OSError, match="No space left"):
        folder.load()
    assert {name: (folder.path / name).stat().st_size for name in sizes} == sizes


# Indexes


@pytest.mark.parametrize("clean", [True, False])
def test_a_missing_offset_index_makes_the_segment_be_recovered(
    tmp_path: Path, *, clean: bool
) -> None:
    """LO-9."""
    folder = Folder(tmp_path)
    three_segments(folder)
    sound = folder.file("index", 5).read_bytes()
    folder.file("index", 5).unlink()
    loaded = folder.load(clean=clean, recovery_point=10)
    recovered = loaded.told("segment recovered")
    assert (recovered[0].numbers["base_offset"], recovered[0].reason) == (
        5,
        "the segment has no offset index",
    )
    assert len(recovered) == (1 if clean else 2)
    loaded.close()
    assert folder.file("index", 5).read_bytes() == sound


def test_a_missing_time_index_is_made_empty(tmp_path: Path) -> None:
    """LO-9: it is rebuilt only where the segment is recovered."""
    folder = Folder(tmp_path)
    three_segments(folder)
    sound = folder.file("timeindex", 5).read_bytes()
    folder.file("timeindex", 5).unlink()
    folder.load(clean=True).close()
    assert folder.file("timeindex", 5).read_bytes() == b""
    folder.load(recovery_point=5).close()
    assert folder.file("timeindex", 5).read_bytes() == sound


def test_a_log_of_messages_without_times_gets_an_empty_time_index(tmp_path: Path) -> None:
    """LO-9."""
    folder = Folder(tmp_path)
    folder.write_segment(0, *(batch(offset, magic=0) for offset in range(5)))
    folder.file("index", 0).unlink()
    folder.file("timeindex", 0).unlink()
    folder.load(clean=True).close()
    assert folder.file("timeindex", 0).stat().st_size == 0
    assert folder.file("index", 0).stat().st_size == 4 * 8


@pytest.mark.parametrize("kind", ["index", "timeindex", "txnindex"])
def test_an_index_without_a_log_is_removed(tmp_path: Path, kind: str) -> None:
    """LO-11."""
    folder = Folder(tmp_path)
    three_segments(folder)
    folder.file(kind, 7).write_bytes(b"not empty")
    loaded = folder.load(clean=True)
    assert not folder.file(kind, 7).exists()
    (step,) = loaded.told("orphaned index removed")
    assert step.where == str(folder.file(kind, 7))


def test_a_transaction_index_below_its_segment_makes_the_segment_be_recovered(
    tmp_path: Path,
) -> None:
    folder = Folder(tmp_path)
    three_segments(folder)
    entry = (0).to_bytes(2) + b"".join(number.to_bytes(8) for number in (1, 0, 3, 3))
    folder.file("txnindex", 5).write_bytes(entry)
    loaded = folder.load(clean=True)
    (step,) = loaded.told("segment recovered")
    assert step.numbers["base_offset"] == 5
    assert step.reason.startswith("the segment's transaction index is invalid: ")
    assert folder.file("txnindex", 5).stat().st_size == 0


@pytest.mark.parametrize("clean", [True, False])
def test_a_transaction_index_of_an_unknown_version_stops_the_broker(
    tmp_path: Path, *, clean: bool
) -> None:
    folder = Folder(tmp_path)
    three_segments(folder)
    folder.file("txnindex", 5).write_bytes(b"\x01" + bytes(33))
    with pytest.raises(UnsupportedFormatError):
        folder.load(clean=clean)


def test_a_loaded_log_can_be_truncated_across_segments(tmp_path: Path) -> None:
    """LO-22."""
    folder = Folder(tmp_path)
    three_segments(folder)
    context = folder.context
    log = Log.open(
        context.directory,
        context.config,
        had_clean_shutdown=True,
        clock=context.clock,
        scheduler=context.scheduler,
        failures=context.failures,
    )
    assert log.truncate_to(3)
    assert log.log_end_offset == 3
    assert [segment.base_offset for segment in log.segments] == [0]
    log.close()
    assert folder.load(clean=True).keys == keys(0, 3)
