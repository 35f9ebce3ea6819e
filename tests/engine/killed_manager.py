"""A process whose log manager starts, serves and shuts down until it is killed, and who kills it.

Each append is noted before it is begun and after it has ended; see `tests.engine.killed_writer`.
"""

import json
import multiprocessing
import os
import time
from pathlib import Path
from random import Random

import workbench as wb
from tests.engine.kills import read, wait_for

TOPICS = ("orders", "prices")
PARTITIONS = 2
CONFIG = {"log.segment.bytes": 3000, "log.flush.interval.messages": 40}
OF_TOPICS = {"prices": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.01}}
LONGEST_RUN_S = 0.6

Sent = dict[str, dict[int, str]]
"""Partition → offset → value."""


def serve_until_killed(root: str, seed: int, journal: str) -> None:
    """Start a log manager, append by chance, shut it down or leave it, and start again."""
    rng = Random(seed)
    notes = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def note(**what: object) -> None:
        os.write(notes, json.dumps(what).encode() + b"\n")

    note(step="begin", is_done=True)
    count = 0
    while True:
        manager = wb.LogManager([root], CONFIG, topic_configs=OF_TOPICS, rng=rng)
        manager.startup()
        for _ in range(rng.randrange(12)):
            topic, number = rng.choice(TOPICS), rng.randrange(PARTITIONS)
            log = manager.get_or_create_log(topic, number)
            values = [f"{seed}-{(count := count + 1)}" for _ in range(rng.randrange(1, 5))]
            step = {"step": "append", "log": f"{topic}-{number}", "offset": log.log_end_offset}
            note(**step, sent=values, is_done=False)
            log.append([(value.encode(), value.encode() * 9) for value in values])
            note(**step, sent=values, is_done=True)
        manager.shutdown()


def kill_manager_often(folder: Path, kills: int, seed: int) -> int:
    """Let such processes serve one directory, one after the other; kill each, and look.

    Everything that was acknowledged must be there, at its offset, and verify finds no error.

    Args:
        folder: for the directory and the journals; empty.
        kills: how many there are.
        seed: of when they are killed, and the first of what they do.

    Returns:
        How many records were acknowledged.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.engine.killed_writer"])
    root = folder / "logs"
    root.mkdir()
    rng = Random(seed)
    sent: Sent = {}
    for number in range(seed, seed + kills):
        journal = folder / f"journal-{number}"
        arguments = (str(root), number, str(journal))
        process = context.Process(target=serve_until_killed, args=arguments, daemon=True)
        process.start()
        wait_for(journal)
        time.sleep(rng.uniform(0, LONGEST_RUN_S))
        assert process.is_alive()
        process.kill()
        process.join()
        hold(root, sent, read(journal))
    return sum(map(len, sent.values()))


def hold(root: Path, sent: Sent, notes: list[dict[str, object]]) -> None:
    """Hold what is on the disk, before and after a start, against what was acknowledged."""
    maybe: Sent = {}
    for note in notes:
        if note["step"] == "append":
            target = sent if note["is_done"] else maybe
            offset, values = note["offset"], note["sent"]
            assert isinstance(offset, int)
            assert isinstance(values, list)
            target.setdefault(str(note["log"]), {}).update(enumerate(values, offset))
    errors = [
        finding
        for finding in (wb.verify(root) if sent else [])
        if finding.severity == "error"
        # A log that was being created has nothing yet, not even its topic's id.
        and (finding.kind != "partition-metadata-missing" or Path(finding.path).name in sent)
    ]
    assert not errors, errors[0]
    with wb.LogManager([root], CONFIG, topic_configs=OF_TOPICS):
        pass
    logs = wb.open_log_directory(root)
    for name, acknowledged in sent.items():
        found = {
            record["offset"]: (record["key"] or b"").decode()
            for record in logs.scan(partitions=name)
        }
        assert {offset: found.get(offset) for offset in acknowledged} == acknowledged, name
        others = {offset: value for offset, value in found.items() if offset not in acknowledged}
        assert others.items() <= maybe.get(name, {}).items(), name
        acknowledged.update(others)
