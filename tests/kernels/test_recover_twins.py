"""The kernels of recovery and their plain twins: the same batches, entries and files."""

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from tests.golden.cases import Case
from tests.kernels.real_files import real_files
from tests.kernels.twins import as_array
from tests.naive import Record, batch, message
from tests.strategies import logs
from workbench.kernels import dispatch
from workbench.kernels.plain.reading import recover as plain_recover
from workbench.layout.batch_row import BATCH_ROW

Golden = Callable[[str], Case]
Rows = npt.NDArray[Any]

ROOT = Path(__file__).parents[2]
THREE = [Record(0, 12, b"key", b"value"), Record(1, 25, None, b""), Record(2, -1, b"", None)]
RECOVER = """
import json, sys, warnings
warnings.simplefilter("ignore")
from workbench.kernels import dispatch
from workbench.runtime.clock import ManualClock
from workbench.log.log import Log
from workbench.runtime.scheduler import ManualScheduler
clock = ManualClock(1_700_000_000_000)
for path in sys.argv[1:]:
    log = Log.open(path, had_clean_shutdown=False, clock=clock, scheduler=ManualScheduler(clock))
    log.close()
print(json.dumps(dispatch.is_compiled()))
"""


def scanned(data: bytes, room: int = 200) -> Rows:
    rows = np.zeros(room, BATCH_ROW)
    count, _, _ = dispatch.scan_window(as_array(data), 0, len(data), rows)
    return rows[: int(count)]


def first_invalid_both(data: bytes, rows: Rows, position: int = 0) -> int:
    """Return the first row that is not whole, the same of both twins."""
    array = as_array(data)[position:]
    within = rows[rows["position"] >= position]
    found = [int(each.first_invalid(array, position, within)) for each in (dispatch, plain_recover)]
    assert found[0] == found[1]
    return found[0]


def choose_both(rows: Rows, last_entry: int, interval: int) -> list[int]:
    """Return the rows with index entries, the same of both twins."""
    found = []
    for each in (dispatch, plain_recover):
        chosen = np.full(len(rows), -7, np.int64)
        count = int(each.choose_entries(rows, last_entry, interval, chosen))
        assert (chosen[count:] == -7).all()
        found.append(chosen[:count].tolist())
    assert found[0] == found[1]
    return [int(row) for row in found[0]]


@given(data=logs)
def test_whole_batches_are_whole_for_both(data: bytes) -> None:
    rows = scanned(data)
    assert first_invalid_both(data, rows) == len(rows)
    if len(rows) > 1:
        first_invalid_both(data, rows, int(rows[1]["position"]))


@given(data=logs.filter(bool), change=st.randoms(use_true_random=False))
def test_a_changed_byte_is_found_by_both(data: bytes, change: random.Random) -> None:
    changed = bytearray(data)
    for _ in range(change.randrange(1, 4)):
        changed[change.randrange(len(data))] ^= 1 << change.randrange(8)
    rows = scanned(bytes(changed))
    within = rows[rows["position"] + rows["size"] <= len(data)]
    first_invalid_both(bytes(changed), within)


def test_every_bit_behind_the_header_counts() -> None:
    data = batch(THREE) + message(1, THREE[0])
    rows = scanned(data)
    start = int(rows[1]["position"])
    for position in (*range(21, start), *range(start + 16, len(data))):
        for bit in range(8):
            changed = bytearray(data)
            changed[position] ^= 1 << bit
            assert first_invalid_both(bytes(changed), rows) == int(position >= start)


def test_batches_too_short_for_their_headers_are_not_whole() -> None:
    whole = batch(THREE)
    rows = scanned(whole)
    for size in range(len(whole)):
        short = rows.copy()
        short["size"] = size
        assert first_invalid_both(whole, short) == 0
    old = message(0, THREE[0])
    rows = scanned(old)
    for size in range(len(old)):
        short = rows.copy()
        short["size"] = size
        assert first_invalid_both(old, short) == 0


def test_real_files_are_whole_for_both(golden: Golden) -> None:
    for data in real_files(golden, 200_000, 3):
        rows = scanned(data, 10_000)
        within = rows[rows["position"] + rows["size"] <= len(data)]
        first_invalid_both(data, within)
        choose_both(within, 0, 4096)


@given(
    gaps=st.lists(st.integers(61, 5000), max_size=40),
    interval=st.integers(0, 10_000),
    before=st.integers(0, 3),
)
def test_the_same_batches_get_index_entries(gaps: list[int], interval: int, before: int) -> None:
    rows = np.zeros(len(gaps), BATCH_ROW)
    rows["position"] = np.cumsum([0, *gaps])[: len(gaps)]
    last_entry = 0
    if before and len(gaps) > before:
        last_entry = int(rows["position"][before])
        rows = rows[before:]
    expected = []
    last = last_entry
    for slot, position in enumerate(rows["position"].tolist()):
        if position - last > interval:
            expected.append(slot)
            last = position
    assert choose_both(rows, last_entry, interval) == expected


def contents(folder: Path) -> dict[str, str]:
    """Return the files of a folder by their digests; a snapshot's name holds its offset."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def recovered_copies(case: Case, root: Path, kernels: str) -> dict[str, dict[str, str]]:
    """Copy damaged logs of a case, recover them in a process of their own, return what is left."""
    chosen = random.Random(11)
    folders = []
    for log in sorted(Path(case.directory("data")).rglob("*-0/*.log"))[:4]:
        folder = root / log.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        data = bytearray(log.read_bytes())
        if len(data) > 100:
            data[chosen.randrange(len(data) // 2, len(data))] ^= 0x10
        (folder / log.name).write_bytes(data)
        folders.append(folder)
    done = subprocess.run(
        [sys.executable, "-c", RECOVER, *dict.fromkeys(map(str, folders))],
        cwd=ROOT,
        env={**os.environ, "KAFKA_WORKBENCH_KERNELS": kernels},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) is (kernels != "plain" and dispatch.is_compiled())
    return {folder.name: contents(folder) for folder in folders}


def test_logs_recovered_by_the_twins_are_the_same_files(golden: Golden, tmp_path: Path) -> None:
    case = golden("2.8.2-txn")
    compiled = recovered_copies(case, tmp_path / "compiled", "")
    by_hand = recovered_copies(case, tmp_path / "plain", "plain")
    assert compiled == by_hand
    assert any(len(files) > 3 for files in compiled.values())
