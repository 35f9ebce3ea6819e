"""Kills processes that write to a log, and holds what is left against what they acknowledged."""

import json
import multiprocessing
import time
from binascii import crc32
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.engine.killed_writer import CONFIG, write_until_killed
from tests.engine.life import open_log
from tests.engine.soundness import assert_epochs_sound, assert_producers_sound, assert_sound

LONGEST_RUN_S = 0.5
APPENDING = {"append", "end transaction"}
RAISING = {"delete records", "retain"}  # the steps that let the log start later
PATIENCE_S = 180.0  # for a process to open a log on a machine with much to do

Stored = tuple[int, int, int]  # first offset, last offset, CRC-32 of the batch


@dataclass
class Acknowledged:
    """What the log held when the last step was noted.

    Attributes:
        batches: those from the log's start on.
        history: every batch that was ever acknowledged or found.
        start, end: the log's.
        unfinished: the note of a step that was begun and not ended.
    """

    batches: list[Stored] = field(default_factory=list)
    history: set[Stored] = field(default_factory=set)
    start: int = 0
    end: int = 0
    unfinished: dict[str, Any] | None = None

    def follow(self, note: dict[str, Any]) -> None:
        """Take over what the process noted."""
        self.unfinished = None if note["is_done"] else note
        if not note["is_done"]:
            return
        if "batch" in note:
            first, last, crc = note["batch"]
            self.batches.append((first, last, crc))
            self.history.add((first, last, crc))
        self.start, self.end = note["start"], note["end"]
        self.batches = [b for b in self.batches if self.start <= b[1] < self.end]

    @property
    def possible_start(self) -> int:
        """Where the log may start: the unfinished step may have come so far."""
        if self.unfinished is None or self.unfinished["step"] not in RAISING:
            return self.start
        return int(self.unfinished["offset"])

    def hold(self, found: list[Stored], start: int, end: int) -> None:
        """Hold what was found after the kill against it."""
        assert all(batch in self.history for batch in found if batch[1] < self.end)
        note = self.unfinished or {"step": "none", "offset": 0}
        step, offset = note["step"], note.get("offset", 0)
        wanted = [batch for batch in self.batches if batch[1] >= self.possible_start]
        visible = [batch for batch in found if batch[1] >= self.possible_start]
        if step in APPENDING and len(visible) > len(wanted):
            assert visible[-1][0] == self.end
            assert end == visible.pop()[1] + 1
        elif step == "truncate":
            wanted = wanted[: max(len(visible), sum(batch[1] < offset for batch in wanted))]
        elif step == "truncate fully":
            wanted = [batch for batch in wanted if batch in visible]
        else:
            # A truncation within a batch took it whole; the offsets up to the end are free again.
            # If it was the only batch, the log begins where it began.
            last = found[-1][1] + 1 if found else start
            assert end == self.end or last == end < self.end
        assert visible == wanted
        assert start <= self.possible_start or step == "truncate fully"


def kill_often(
    folder: Path,
    kills: int,
    seed: int,
    write: Callable[[str, int, str], None] = write_until_killed,
) -> list[str]:
    """Let processes write to one log, one after the other, and kill each; return their steps.

    Args:
        folder: for the log and the journals; empty.
        kills: how many there are.
        seed: of when they are killed, and the first of what they do.
        write: what a process does, with the log directory, a seed and a journal.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.engine.killed_writer"])
    root = folder / "log"
    root.mkdir()
    rng = Random(seed)
    expected = Acknowledged()
    steps: list[str] = []
    epochs_from = 0
    for number in range(seed, seed + kills):
        journal = folder / f"journal-{number}"
        process = context.Process(target=write, args=(str(root), number, str(journal)), daemon=True)
        process.start()
        if rng.random() < 0.8:
            wait_for(journal)
        time.sleep(rng.uniform(0, LONGEST_RUN_S))
        assert process.is_alive()
        process.kill()
        process.join()
        notes = read(journal)
        steps += [note["step"] for note in notes]
        for note in notes:
            expected.follow(note)
        # What a killed deletion forgot is still so, even where its log start was not checkpointed.
        epochs_from = max(epochs_from, expected.possible_start)
        found, start, end = recover(root, epochs_from)
        epochs_from = min(epochs_from, end)
        expected.hold(found, start, end)
        visible = [batch for batch in found if batch[1] >= start]
        expected = Acknowledged(visible, expected.history | set(found), start, end)
    return steps


def wait_for(journal: Path) -> None:
    """Return when the process has opened the log."""
    deadline = time.monotonic() + PATIENCE_S
    while not read(journal):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def read(journal: Path) -> list[dict[str, Any]]:
    """Return the notes that are whole."""
    data = journal.read_bytes() if journal.exists() else b""
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def recover(root: Path, epochs_from: int) -> tuple[list[Stored], int, int]:
    """Recover the log; return its batches, where it starts and where it ends.

    Args:
        root: the log directory.
        epochs_from: leader epochs before may be forgotten.
    """
    log = open_log(root, CONFIG)
    batches = assert_sound(log)
    assert_producers_sound(log)
    assert_epochs_sound(log, epochs_from)
    log.close_handlers()
    found = [(batch.first_offset, batch.last_offset, crc32(batch.data)) for batch in batches]
    return found, log.log_start_offset, log.log_end_offset
