"""Size does not matter: a gigabyte streams in little memory, 10,000 partitions open at once."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import workbench
from tests.naive import Record, batch

ROOT = Path(__file__).parents[2]
MEMORY_BOUND = (200 + 64) << 20  # bytes over the baseline with two workers, whatever the size
LOG = "00000000000000000000.log"


@pytest.fixture
def roomy(tmp_path: Path) -> Iterator[Path]:
    """Give a folder that is removed at once: it will hold a gigabyte."""
    yield tmp_path
    shutil.rmtree(tmp_path)


def write_log(path: Path, template: bytes, records: int, size: int) -> int:
    """Write a log of about ``size`` bytes: one batch over and over with ascending offsets.

    The base offset is outside the CRC. Returns how many records the log holds.
    """
    path.parent.mkdir(parents=True)
    count = size // len(template)
    once = min(count, (64 << 20) // len(template))
    block = np.tile(np.frombuffer(template, np.uint8), once).reshape(once, len(template))
    written = 0
    with path.open("wb") as file:
        while written < count:
            now = min(once, count - written)
            offsets = (np.arange(written, written + now) * records).astype(">i8")
            block[:now, :8] = offsets[:, None].view(np.uint8)
            file.write(block[:now].tobytes())
            written += now
    return count * records


@pytest.mark.slow
@pytest.mark.parametrize(("codec", "size"), [(0, 1 << 30), (2, 128 << 20), (4, 16 << 20)])
def test_a_large_log_streams_in_bounded_memory(codec: int, size: int, roomy: Path) -> None:
    """1 GiB without compression; about as much is in the compressed ones."""
    words = [b"order", b"paid", b"sent", b"returned", b"canceled"]
    records = [
        Record(at, 1_700_000_000_000 + at, b"key-%06d" % at, b" ".join(words[at % 5 :]) * 12)
        for at in range(100)
    ]
    template = batch(records, codec)
    write_log(roomy / "small" / "small-0" / LOG, template, 100, 20 * len(template))
    count = write_log(roomy / "large" / "large-0" / LOG, template, 100, size)
    done = subprocess.run(
        [sys.executable, "-m", "tests.loaders.streaming", roomy / "small", roomy / "large"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print(f"codec {codec}: {found}")  # noqa: T201
    assert found["records"] == found["counted"] == count
    assert found["written"] == count // 4
    assert found["memory"] <= MEMORY_BOUND


@pytest.mark.slow
@pytest.mark.alone
def test_ten_thousand_partitions_open_in_about_a_second(roomy: Path) -> None:
    """Listing alone; then the log end offsets, which look into every last segment."""
    folder = roomy / "many"
    data = batch([Record(at, at, b"k", b"v" * 20) for at in range(3)])
    for number in range(10_000):
        partition = folder / f"topic-{number // 100}-{number % 100}"
        partition.mkdir(parents=True)
        (partition / LOG).write_bytes(data)
        for name in ("00000000000000000000.index", "00000000000000000000.timeindex"):
            (partition / name).touch()
    entries = "".join(f"topic-{n // 100} {n % 100} 1\n" for n in range(10_000))
    (folder / "log-start-offset-checkpoint").write_text(f"0\n10000\n{entries}")
    start = time.process_time()
    logs = workbench.open_log_directory(folder)
    assert len(logs) == 10_000
    opened = time.process_time() - start
    segments = logs.inspect.segments().num_rows
    listed = time.process_time() - start
    ends = sum(partition.log_end_offset for partition in logs.values())
    ended = time.process_time() - start
    print(f"opened {opened:.2f} s, segments {listed:.2f} s, log end offsets {ended:.2f} s")  # noqa: T201
    assert (segments, ends) == (10_000, 30_000)
    assert opened < 5
    assert ended < 30
