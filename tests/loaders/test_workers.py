"""Several workers give what one gives, in its order, and leave nothing behind."""

import io
import itertools
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workbench
from tests.corrupt import edit, flip, zero
from tests.golden.cases import Case
from tests.naive import Record, batch
from workbench.errors import CorruptDataWarning, CorruptRecordError
from workbench.file_system.source import FileSource
from workbench.inspection.findings import Finding
from workbench.layout.attributes import ZSTD
from workbench.loaders.exports.parquet_file import write_parquet
from workbench.loaders.scan.scan import Scan
from workbench.record.buffers import thread_pool
from workbench.record.codecs import libraries
from workbench.runtime import workers
from workbench.runtime.workers import in_order

Golden = Callable[[str], Case]
LOG = "00000000000000000000.log"


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers start for files of any size."""
    monkeypatch.setattr(workers, "SHARE", 1)


@pytest.fixture(autouse=True)
def nothing_remains() -> Iterator[None]:
    """Check that the test leaves no thread and no open file."""
    before = open_files()
    yield
    assert (running_workers(), open_files()) == (0, before)


def running_workers() -> int:
    """Return how many workers run; other threads are those of the test runner."""
    return sum(thread.name.startswith("worker-") for thread in threading.enumerate())


def open_files() -> list[str]:
    """Return what is open of files in folders; sockets and pipes are the test runner's."""
    folder = "/proc/self/fd"
    found = []
    for number in os.listdir(folder):
        with suppress(OSError):
            found.append(os.readlink(f"{folder}/{number}"))
    return sorted(name for name in found if name.endswith((".log", "index", ".parquet")))


def slowly(piece: int) -> Iterator[tuple[int, int]]:
    """Give as many results as the piece says, later pieces faster."""
    for at in range(piece % 4):
        time.sleep(0.003 * (piece % 3))
        yield piece, at


def test_results_come_in_the_order_of_the_pieces() -> None:
    expected = [(piece, at) for piece in range(40) for at in range(piece % 4)]
    for count in (1, 2, 5):
        assert list(in_order(range(40), slowly, count)) == expected


def test_an_error_comes_after_the_results_before_it() -> None:
    def failing(piece: int) -> Iterator[int]:
        yield piece
        if piece == 3:
            raise OSError("piece 3")

    for count in (1, 4):
        results = in_order(range(99), failing, count)
        assert list(itertools.islice(results, 4)) == [0, 1, 2, 3]
        with pytest.raises(OSError, match="piece 3"):
            next(results)


def test_an_error_of_the_pieces_comes_after_their_results() -> None:
    def pieces() -> Iterator[int]:
        yield from range(5)
        raise ValueError("no sixth")

    results = in_order(pieces(), lambda piece: [piece], 3)
    assert list(itertools.islice(results, 5)) == list(range(5))
    with pytest.raises(ValueError, match="no sixth"):
        next(results)


@pytest.mark.parametrize("count", [1, 3])
def test_whoever_stops_ends_the_threads_and_closes_the_pieces(count: int) -> None:
    closed: list[bool] = []
    taken: list[int] = []

    def pieces() -> Iterator[int]:
        try:
            for piece in itertools.count():
                taken.append(piece)
                yield piece
        finally:
            closed.append(True)

    results = in_order(pieces(), lambda piece: [piece], count)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt())
    assert closed == [True]
    assert len(taken) <= 2 + count * (1 + workers.AHEAD // (1 << 20))


def test_what_waits_for_a_slow_caller_is_bounded() -> None:
    made: list[tuple[int, int]] = []

    def work(piece: int) -> Iterator[int]:
        for at in range(10):
            made.append((piece, at))
            yield at

    results = in_order(range(50), work, 2, lambda _: workers.AHEAD)
    for given in range(1, 60):
        next(results)
        time.sleep(0.002)
        # Two wait, each worker holds one more, and the first piece's may always come.
        assert len(made) <= given + 2 + 2 + 1
    results.close()


def result_of(folder: Path, count: int, **options: Any) -> tuple[pa.Table, list[Finding]]:
    scan = workbench.open_log_directory(folder).scan(workers=count, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorruptDataWarning)
        return scan.to_arrow().combine_chunks(), scan.findings


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("4.2.0-damage-unclean", "before"),
        ("4.2.0-txn", "data"),
        ("4.2.0-compact-codecs", "after2"),
        ("k0.10.0-mixed-wrapper", "after"),
    ],
)
def test_real_directories_read_alike_with_several_workers(
    name: str, label: str, golden: Golden
) -> None:
    logs = golden(name).directory(label)
    several: tuple[dict[str, Any], ...] = (
        {},
        {"isolation_level": "read_committed"},
        {"where": "1", "columns": ["key"]},
    )
    for options in several[: 1 if "damage" in name else None]:
        assert result_of(logs, 3, **options) == result_of(logs, 1, **options)
    opened = workbench.open_log_directory(logs)
    assert opened.verify(info=True, workers=3) == opened.verify(info=True, workers=1)
    assert opened.inspect.batches(workers=3) == opened.inspect.batches(workers=1)


def large_log(folder: Path, codec: int, size: int = 10 << 20) -> Path:
    """Write a log of several windows; return the file."""
    values = np.random.default_rng(codec).integers(97, 107, 200_000, np.uint8).tobytes()
    starts = range(0, len(values), 1000)
    records = [Record(n, n, b"key-%d" % n, values[at : at + 1000]) for n, at in enumerate(starts)]
    template = np.frombuffer(batch(records, codec), np.uint8)
    count = size // len(template)
    whole = np.tile(template, count).reshape(count, len(template))
    offsets = (np.arange(count) * len(records)).astype(">i8")
    whole[:, :8] = offsets[:, None].view(np.uint8)
    (folder / "large-0").mkdir(parents=True)
    (folder / "large-0" / LOG).write_bytes(whole.tobytes())
    return folder / "large-0" / LOG


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_damage_anywhere_in_a_large_log_is_told_alike(codec: int, tmp_path: Path) -> None:
    file = large_log(tmp_path, codec)
    size = file.stat().st_size
    edit(file, lambda data: flip(data, size // 3))
    edit(file, lambda data: zero(data, size // 2, size // 2 + 300_000))
    edit(file, lambda data: data[: size - 1000])
    logs = workbench.open_log_directory(tmp_path)
    table, findings = result_of(tmp_path, 1)
    assert len(findings) >= 2
    for count in (2, 3):
        assert result_of(tmp_path, count) == (table, findings)
        assert logs.verify(workers=count) == logs.verify(workers=1)
    low, high = table.num_rows // 3, table.num_rows // 2
    chosen = {"offsets": (low, high), "where": f"key:{low + 7}"}
    assert result_of(tmp_path, 3, **chosen) == result_of(tmp_path, 1, **chosen)


def offsets_before_the_error(scan: Scan) -> list[int]:
    offsets: list[int] = []
    try:
        for each in scan.batches():
            offsets += each.column("offset").to_pylist()
    except CorruptRecordError:
        return offsets
    raise AssertionError("no error")


@pytest.mark.usefixtures("eager")
def test_a_scan_that_ends_early_leaves_no_thread_and_no_file(tmp_path: Path) -> None:
    file = large_log(tmp_path, 3)
    logs = workbench.open_log_directory(tmp_path)
    batches = logs.scan(workers=3).batches()
    first = next(batches)
    assert 1 <= running_workers() <= 3  # one whose piece was short may have ended
    batches.close()
    assert running_workers() == 0
    assert first.column("offset")[0].as_py() == 0
    limited = logs.scan(workers=3, limit=5000, where="key-")
    assert limited.to_arrow().num_rows == 5000
    edit(file, lambda data: flip(data, len(data) // 2))
    strict = {count: logs.scan(workers=count, on_corrupt="raise") for count in (1, 3)}
    given = {count: offsets_before_the_error(scan) for count, scan in strict.items()}
    assert given[3]
    assert given[3] == given[1][: len(given[3])]


def test_a_scan_that_goes_on_in_another_thread_uses_no_memory_of_the_first(tmp_path: Path) -> None:
    large_log(tmp_path, ZSTD)
    scan = workbench.open_log_directory(tmp_path).scan(workers=1)
    expected = scan.to_arrow()
    batches, found = scan.batches(), []
    sizes: list[int] = []
    contexts: list[object] = []

    def take() -> None:
        found.append(next(batches))
        sizes.append(thread_pool().size)
        contexts.append(libraries._THREAD.made[ZSTD])  # noqa: SLF001 - there is no other sign

    for _ in range(3):
        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
    found += batches
    assert pa.Table.from_batches(found) == expected
    assert sizes == [0, 0, 0]
    assert len(set(map(id, contexts))) == 3


@pytest.mark.usefixtures("eager")
def test_a_file_that_fails_in_the_middle_is_a_finding_after_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large_log(tmp_path, 2)
    read_into = FileSource.read_into

    def failing(source: FileSource, buffer: Any, position: int) -> int:
        if position > 7 << 20:
            raise OSError(5, "Input/output error")
        return read_into(source, buffer, position)

    monkeypatch.setattr(FileSource, "read_into", failing)
    one, several = result_of(tmp_path, 1), result_of(tmp_path, 3)
    assert several == one
    assert one[0].num_rows > 0
    assert [finding.kind for finding in one[1]] == ["unreadable"]


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_parquet_of_several_workers_has_the_bytes_that_pyarrow_alone_writes(
    compression: str, tmp_path: Path
) -> None:
    large_log(tmp_path, 3, 6 << 20)
    table = workbench.open_log_directory(tmp_path).scan().to_arrow()
    batches = table.to_batches(max_chunksize=300)
    expected = io.BytesIO()
    with pq.ParquetWriter(expected, table.schema, compression=compression) as writer:
        for each in batches:
            writer.write_batch(each, each.num_rows)
    for count in (1, 3):
        file = io.BytesIO()
        written = write_parquet(batches, table.schema, file, compression, 1, count)
        assert file.getvalue() == expected.getvalue()
        assert written == table.num_rows
    assert len(batches) > 15  # more than fit into the short form of a list's length
    scan = workbench.open_log_directory(tmp_path).scan(workers=3)
    path = tmp_path.parent / f"{tmp_path.name}.parquet"
    assert scan.to_parquet(path, compression=compression) == table.num_rows
    with pq.ParquetFile(path) as written_file:  # `read_table` closes its file a moment later
        assert written_file.read() == table


def test_an_export_that_fails_leaves_no_file(tmp_path: Path) -> None:
    file = large_log(tmp_path, 3)
    edit(file, lambda data: flip(data, len(data) // 2))
    scan = workbench.open_log_directory(tmp_path).scan(workers=3, on_corrupt="raise")
    target = tmp_path.parent / f"{tmp_path.name}.parquet"
    with pytest.raises(CorruptRecordError):
        scan.to_parquet(target, row_group_bytes=1)
    assert not target.exists()


def test_a_tail_that_is_a_hole_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = large_log(tmp_path, 4, 1 << 20)
    size = file.stat().st_size
    os.truncate(file, size + (1 << 30))  # as preallocate=true does
    read = 0
    read_into = FileSource.read_into

    def counted(source: FileSource, buffer: Any, position: int) -> int:
        nonlocal read
        got = read_into(source, buffer, position)
        read += got
        return got

    monkeypatch.setattr(FileSource, "read_into", counted)
    for count in (1, 3):
        logs, read = workbench.open_log_directory(tmp_path), 0
        scan = logs.scan(workers=count)
        records = scan.count()
        assert scan.findings == []
        assert read < size + (16 << 20)
        read = 0
        found = logs.verify(info=True, workers=count)
        assert "zero-tail" in [finding.kind for finding in found]
        assert read < size + (16 << 20)
        read = 0
        assert logs["large-0"].log_end_offset == records > 0
        assert logs.inspect.segments()["size"].to_pylist() == [size + (1 << 30)]
        assert read < 1 << 20


def test_workers_below_one_are_refused(tmp_path: Path) -> None:
    large_log(tmp_path, 0, 1 << 20)
    logs = workbench.open_log_directory(tmp_path)
    with pytest.raises(ValueError, match="workers is 0, below 1"):
        logs.scan(workers=0)
    with pytest.raises(ValueError, match="workers is -1, below 1"):
        logs.verify(workers=-1)
    assert Scan(logs.listing).workers == min(workers.cores(), workers.MOST_CORES)
