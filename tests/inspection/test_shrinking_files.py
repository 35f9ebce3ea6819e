"""Files that are cut or deleted while they are read: every reader ends, with what there was."""

import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import workbench
from tests.naive import Record, batch
from workbench.inspection.bytes.batch_bytes import read_batch
from workbench.inspection.bytes.fields import explain_batch
from workbench.inspection.lookups.record_window import RecordWindow
from workbench.inspection.partition import DiskPartition
from workbench.inspection.transactions import read_transactions

SAMPLES: Final = Path(__file__).parents[2] / "sample_data"
UNKNOWN_CODECS: Final = "made/unknown-codecs-0"
PARTITIONS: Final = (
    UNKNOWN_CODECS,
    "damaged/healthy-0",
    "damaged/flipped-byte-0",
    "damaged/wrong-magic-0",
    "damaged/__cluster_metadata-0",
    "era-0.9.0.1/orders-0",
    "era-0.11.0.3/orders-0",
)
MOST_CALLS: Final = 25  # of the system, at which a file is cut


def verify(partition: DiskPartition) -> None:
    logs = workbench.open_log_directory(partition.path)
    for finding in (*logs.verify(), *logs.verify(deep=False)):
        assert str(finding)


def scan(partition: DiskPartition) -> None:
    logs = workbench.open_log_directory(partition.path)
    for level in ("read_uncommitted", "read_committed"):
        logs.scan(isolation_level=level).count()
    logs.scan(offsets=(7, 20)).to_arrow()


def inspect(partition: DiskPartition) -> None:
    tables = workbench.open_log_directory(partition.path).inspect
    for table in (tables.batches, tables.offset_index, tables.time_index, tables.producers,
                  tables.aborted_transactions, tables.keys, tables.disk_usage):  # fmt: skip
        table()


def segments(partition: DiskPartition) -> None:
    for segment in partition.segments:
        assert len(segment.batches) >= 0
        assert segment.next_offset >= segment.base_offset
        assert len(segment.read_bytes(0, 100)) <= 100
        assert segment.position_of(segment.base_offset + 5) >= 0
    assert partition.offset_for_timestamp(0) is None or partition.log_end_offset >= 0
    assert read_transactions(partition).last_stable_offset >= 0


def bytes_of_batches(partition: DiskPartition) -> None:
    for segment in partition.segments:
        for row in segment.batches.rows[:3]:
            explain_batch(segment, int(row["position"]))
            read_batch(segment, int(row["position"]), int(row["size"]))
        window = RecordWindow(segment)
        if len(window.rows):
            list(window.read(0, 5))


READERS: Final[dict[str, Callable[[DiskPartition], None]]] = {
    each.__name__: each for each in (verify, scan, inspect, segments, bytes_of_batches)
}
CUTS: Final[dict[str, Callable[[int], int]]] = {
    "empty": lambda _size: 0,
    "inside a header": lambda size: min(size, 17),
    "half": lambda size: size // 2,
}


@pytest.fixture(name="folder", params=PARTITIONS)
def folder_(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / Path(request.param).name
    if request.param == UNKNOWN_CODECS:
        folder.mkdir()
        sound = bytearray(batch([Record(at, 1000, b"key", b"value" * 20) for at in range(5)]))
        sound[22] |= 7  # the codec, which the CRC covers
        (folder / f"{0:020d}.log").write_bytes(sound * 3)
    else:
        shutil.copytree(SAMPLES / request.param, folder)
    return folder


def run(reader: str, folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (partition,) = workbench.open_log_directory(folder).values()
        try:
            READERS[reader](partition)
        except FileNotFoundError as error:  # only of those who were asked for one file
            assert reader in {"segments", "bytes_of_batches"}, error  # noqa: PT017


class Meddling:
    """Does something to a file at the n-th call of a function of the system."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
        self.calls = 0
        self.at = -1
        self.act: Callable[[], None] = lambda: None
        for name in names:
            monkeypatch.setattr(os, name, self._wrapped(getattr(os, name)))

    def _wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls == self.at:
                self.act()
            return function(*arguments, **options)

        return call

    def start(self, at: int, act: Callable[[], None]) -> None:
        self.calls, self.at, self.act = 0, at, act


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("reader", READERS)
def test_files_cut_at_any_read_end_no_reader(
    reader: str, cut: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meddling = Meddling(monkeypatch, "preadv", "pread")
    work = tmp_path / "work" / folder.name

    def shorten() -> None:
        for path in work.iterdir():
            os.truncate(path, CUTS[cut](path.stat().st_size))

    for at in range(1, MOST_CALLS):
        shutil.copytree(folder, work)
        meddling.start(at, shorten)
        run(reader, work)
        was_done = meddling.calls >= at
        shutil.rmtree(work)
        if not was_done:
            break
    assert at > 1


@pytest.mark.parametrize("reader", READERS)
def test_files_deleted_before_any_opening_end_no_reader(
    reader: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meddling = Meddling(monkeypatch, "open")
    work = tmp_path / "work" / folder.name

    def delete() -> None:
        for path in work.iterdir():
            path.unlink()

    for at in range(1, MOST_CALLS):
        shutil.copytree(folder, work)
        meddling.start(at, delete)
        run(reader, work)
        was_done = meddling.calls >= at
        shutil.rmtree(work)
        if not was_done:
            break
    assert at > 1
