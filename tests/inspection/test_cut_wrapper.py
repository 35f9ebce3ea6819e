"""A compressed message of magic 0 or 1 whose last inner message is incomplete."""

from pathlib import Path

import numpy as np
import pytest

import workbench
from tests.naive import Record, message, wrapper
from workbench.inspection.verify.verify import verify
from workbench.record.memory_records import MemoryRecords
from workbench.record.reading.batch_times import batch_times

TWO = [Record(0, 5, b"first", None), Record(1, 6, b"second", None)]


def scan_offsets(logs: workbench.LogDirectory) -> list[int]:
    with pytest.warns(workbench.CorruptDataWarning):
        offsets: list[int] = logs.scan(columns=["offset"]).to_arrow()["offset"].to_pylist()
    return offsets


@pytest.mark.parametrize("magic", [0, 1])
def test_what_is_missing_is_told_and_what_is_whole_is_read(magic: int, tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    inner = message(magic, TWO[0]) + message(magic, TWO[1])[:-3]
    log = folder / f"{0:020}.log"
    log.write_bytes(wrapper(magic, TWO, 1, payload=inner))
    logs = workbench.open_log_directory(tmp_path)
    scan = logs.scan(columns=["key"])
    with pytest.warns(workbench.CorruptDataWarning):
        assert scan.to_arrow()["key"].to_pylist() == [b"first"]
    assert [record.key for record in MemoryRecords.copy_of(log.read_bytes()).records()] == [
        b"first"
    ]
    assert batch_times(np.fromfile(log, np.uint8)).offsets.tolist() == scan_offsets(logs)
    told = [f for f in verify(tmp_path) if f.kind == "record"]
    for (finding,) in (scan.findings, told):
        assert (finding.path, finding.position) == (str(log), 0)
        assert "inside a compressed message is incomplete" in finding.found
        assert "do not report this one" in finding.broker
