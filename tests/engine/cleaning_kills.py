"""Kills processes that write to a compacted log and clean it: no newest value may be lost."""

import multiprocessing
import time
from pathlib import Path
from random import Random

from tests.engine.killed_cleaner import CONFIG, clean_until_killed
from tests.engine.kills import PATIENCE_S, read
from tests.engine.life import open_log
from tests.engine.soundness import all_batches, assert_sound
from workbench.record.memory_records import MemoryRecords

LONGEST_WAIT_S = 0.03  # within a cleaning

Newest = dict[int, tuple[int, str | None]]  # key to offset and value


def newest_in(root: Path) -> Newest:
    """Recover the log and return the newest record of each key."""
    log = open_log(root, CONFIG, clean=False)
    assert_sound(log)
    left_over = {path.suffix for path in Path(log.directory).iterdir()}
    assert not left_over & {".cleaned", ".swap", ".deleted"}
    found: Newest = {}
    for batch in all_batches(log):
        for record in MemoryRecords.copy_of(batch.data).records():
            value = None if record.value is None else record.value.decode()
            found[int(record.key or b"")] = (record.offset, value)
    log.close_handlers()
    return found


def hold(found: Newest, acknowledged: Newest, maybe: Newest) -> None:
    """Hold what is there against what was acknowledged, and what may have been written besides."""
    for key, (offset, value) in acknowledged.items():
        if key in maybe and found.get(key) == maybe[key]:
            continue
        if value is None and key not in found:
            continue  # the tombstone has gone, too
        assert found.get(key) == (offset, value), key
    assert all(key in acknowledged or found[key] == maybe.get(key) for key in found)


def wait_for_cleanings(journal: Path, count: int) -> None:
    """Return when that many cleanings were begun."""
    deadline = time.monotonic() + PATIENCE_S
    while sum(note["step"] == "clean" and not note["is_done"] for note in read(journal)) < count:
        assert time.monotonic() < deadline
        time.sleep(0.002)


def kill_cleaners(folder: Path, kills: int, seed: int) -> tuple[int, int]:
    """Kill processes that clean; return how many cleanings were interrupted, and how many done.

    Args:
        folder: for the log and the journals; empty.
        kills: how many there are.
        seed: of when they are killed, and the first of what they do.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.engine.killed_writer"])
    root = folder / "log"
    root.mkdir()
    rng = Random(seed)
    acknowledged: Newest = {}
    interrupted = cleaned = 0
    for number in range(seed, seed + kills):
        journal = folder / f"journal-{number}"
        process = context.Process(
            target=clean_until_killed, args=(str(root), number, str(journal)), daemon=True
        )
        process.start()
        wait_for_cleanings(journal, rng.randrange(1, 4))
        time.sleep(rng.uniform(0, LONGEST_WAIT_S))
        assert process.is_alive()
        process.kill()
        process.join()
        notes = read(journal)
        maybe: Newest = {}
        for note in notes:
            if note["step"] == "append":
                newest = acknowledged if note["is_done"] else maybe
                for offset, (key, value) in enumerate(note["sent"], note["offset"]):
                    newest[key] = (offset, value)
        found = newest_in(root)
        unfinished = maybe if not notes[-1]["is_done"] else {}
        hold(found, acknowledged, unfinished)
        acknowledged = {
            key: found.get(key, held) for key, held in (unfinished | acknowledged).items()
        }
        interrupted += notes[-1]["step"] == "clean" and not notes[-1]["is_done"]
        cleaned += sum(note["step"] == "clean" and note["is_done"] for note in notes)
    return interrupted, cleaned
