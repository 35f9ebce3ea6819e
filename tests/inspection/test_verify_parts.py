"""`verify` takes a log in parts: where one ends changes nothing that it says."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.naive import Record, batch
from workbench.inspection.findings import Finding
from workbench.inspection.verify.segments import log_pass
from workbench.inspection.verify.verify import verify
from workbench.layout.index_entries import OFFSET_ENTRY, TIME_ENTRY
from workbench.record.reading import batch_table

SAMPLES = Path(__file__).parents[2] / "sample_data"
BASE = 100


def findings(path: Path, rows: int, *, deep: bool, patch: pytest.MonkeyPatch) -> list[Finding]:
    """Return what is said of a directory that is read in parts of this many rows."""
    with patch.context() as small:
        for module in (log_pass, batch_table):
            small.setattr(module, "ROWS_AT_ONCE", rows)
        return verify(path, deep=deep)


@pytest.mark.parametrize("deep", [True, False])
@pytest.mark.parametrize("sample", ["damaged", "era-0.10.2.2"])
def test_parts_of_any_size_give_the_findings_of_a_sample(
    monkeypatch: pytest.MonkeyPatch, sample: str, *, deep: bool
) -> None:
    whole = findings(SAMPLES / sample, 1 << 14, deep=deep, patch=monkeypatch)
    for rows in (1, 3):
        assert findings(SAMPLES / sample, rows, deep=deep, patch=monkeypatch) == whole


def chance_segment(folder: Path, rng: Random) -> None:
    """Write a segment of batches with odd offsets, CRCs and epochs, and indexes that suit some."""
    log, entries, times, offset = bytearray(), [], [], BASE
    for _ in range(rng.randint(1, 12)):
        count, time = rng.randint(1, 3), rng.randint(0, 50)
        shown = offset + rng.choice((0,) * 12 + (-40, -3, 3, 200, 2**31))
        one = bytearray(batch([Record(shown + each, time) for each in range(count)]))
        one[12:16] = rng.choice((0,) * 6 + (1, 2)).to_bytes(4)  # the CRC does not cover the epoch
        if rng.random() < 0.05:
            one[-1] ^= 1
        if rng.random() < 0.5:
            entries.append((max(0, offset + count - 1 - BASE + rng.choice((0, 0, 0, 1))), len(log)))
            times.append((time, offset - BASE))
        log += one
        offset += count
    log += rng.choice((b"", b"", b"", bytes(9), b"\xff" * 30, batch([Record(offset)])[:40]))
    folder.mkdir(parents=True)
    name = folder / f"{BASE:020}"
    name.with_suffix(".log").write_bytes(log)
    for suffix, kind, rows in (
        (".index", OFFSET_ENTRY, entries),
        (".timeindex", TIME_ENTRY, times),
    ):
        kept = sorted(rows) if rng.random() < 0.9 else rows
        name.with_suffix(suffix).write_bytes(np.array(kept, kind).tobytes())
    if rng.random() < 0.5:
        (folder / f"{rng.choice((offset, offset - 2, BASE + 1)):020}.log").touch()
    starts = f"1 {BASE}\n2 {BASE + 4}\n"
    (folder / "leader-epoch-checkpoint").write_text(f"0\n2\n{starts}")


def test_parts_of_any_size_give_the_findings_of_any_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = set()
    for seed in range(80):
        chance_segment(tmp_path / str(seed) / "orders-0", Random(seed))
        directory = tmp_path / str(seed)
        whole = findings(directory, 1 << 14, deep=True, patch=monkeypatch)
        kinds |= {finding.kind for finding in whole}
        for rows in (1, 2):
            assert findings(directory, rows, deep=True, patch=monkeypatch) == whole, seed
    assert kinds >= {
        "batch-epoch", "crc", "garbage-tail", "index-entry", "offset-order", "offset-overflow",
        "offset-range", "time-index-entry", "torn-tail", "zero-tail",
    }  # fmt: skip
