"""Rounds about the engine, each by a seed: kills, failing disks, crashes, and readers beside it.

Each works in a folder of its own, and raises AssertionError (or what the engine raised) when
something acknowledged is lost, or something false is said.
"""

import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import workbench as wb
from tests.engine.cleaning_kills import kill_cleaners
from tests.engine.crash_checks import check_all, sample
from tests.engine.failing_disk import errors_for, fail_and_check, live
from tests.engine.killed_cleaner import clean_until_killed
from tests.engine.killed_manager import kill_manager_often
from tests.engine.killed_writer import restart_until_killed
from tests.engine.kills import kill_often, read, wait_for
from tests.engine.life import Life
from tests.engine.lives import SCRIPTS, by_chance, compactions, recoveries
from workbench.file_system.local import LOCAL
from workbench.files.names import LOCK

KILLS: Final = 4
STATES: Final = 12  # of a life, after a crash
STEPS: Final = 30  # of a life
FAILURES: Final = 12  # operations of one life that fail, each with every error it may meet
READING_S: Final = 4.0
FAILING: Final = (live, *SCRIPTS, recoveries, compactions)


class FalseFindingError(AssertionError):
    """Verify says that something is wrong with a log that is only being written."""


def kill_writers(folder: Path, seed: int) -> None:
    """Kill processes that append, produce, roll, truncate, retain, close and recover."""
    kill_often(folder, KILLS, seed)


def kill_while_restarting(folder: Path, seed: int) -> None:
    """Kill processes that start, recover and shut down: their producers are idempotent, too."""
    kill_often(folder, KILLS, seed, restart_until_killed)


def kill_managers(folder: Path, seed: int) -> None:
    """Kill processes in which a log manager starts, serves and shuts down."""
    assert kill_manager_often(folder, KILLS, seed)


def kill_while_cleaning(folder: Path, seed: int) -> None:
    """Kill processes within a cleaning."""
    kill_cleaners(folder, KILLS, seed)


def crash(folder: Path, seed: int) -> None:
    """Load states that a crash may leave of a life by chance."""
    life = Life(folder / "log")
    by_chance(life, Random(seed), STEPS)
    check_all(life, sample(life, STATES, seed), folder)


def fail_disk(folder: Path, seed: int) -> None:
    """Let every n-th operation of a life fail with each error: no room, no disk, too large, half.

    The life is one of the scripts, or by chance; with its recoveries, cleanings and shutdowns.
    """
    rng = Random(seed)
    number = seed // len(ENGINE_ROUNDS) % (len(FAILING) + 1)
    script = FAILING[number] if number < len(FAILING) else partial(chance_life, seed=seed)
    reference = Life(folder / "reference" / "log")
    script(reference)
    operations = reference.fs.operations
    step = max(len(operations) // FAILURES, 1)
    for at in range(rng.randrange(step), len(operations), step):
        for error in errors_for(operations[at]):
            cuts_power = rng.random() < 0.1
            where = folder / f"{at}-{error}"
            fail_and_check(script, reference, at, error, where, cuts_power=cuts_power)


def chance_life(life: Life, seed: int) -> None:
    """Live by chance, the same for a seed."""
    by_chance(life, Random(seed), STEPS)


def read_beside_cleaner(folder: Path, seed: int) -> None:
    """Verify and scan a log while another process appends to it, rolls, cleans and swaps."""
    root, journal = folder / "log", folder / "journal"
    root.mkdir()
    with _process(lock_and_clean, str(root), seed, str(journal)):
        wait_for(journal)
        end = time.monotonic() + READING_S
        while time.monotonic() < end:
            hold_findings(root / "orders-0")  # in a broker's directory there would be more
            scanned = records_in(root)
            sent = {
                offset: (str(key), value)
                for note in read(journal)
                if note["step"] == "append"
                for offset, (key, value) in enumerate(note["sent"], note["offset"])
            }
            wrong = [record for record in scanned if sent.get(record[0]) != record[1:]]
            assert not wrong, f"a scan gave {wrong[0]}, sent was {sent.get(wrong[0][0])}"
            offsets = [offset for offset, _, _ in scanned]
            assert offsets == sorted(set(offsets))


def lock_and_clean(root: str, seed: int, journal: str) -> None:
    """Hold the log directory's lock as a broker does, and append and clean until killed."""
    lock = LOCAL.lock(f"{root}/{LOCK}")
    try:
        clean_until_killed(root, seed, journal)
    finally:
        lock.release()


def hold_findings(root: Path) -> None:
    """Hold that verify says nothing of a directory that is in use.

    Raises:
        FalseFindingError: it does.
    """
    found = [finding for finding in wb.verify(root) if finding.severity != "info"]
    if found:
        kinds = sorted({finding.kind for finding in found})
        raise FalseFindingError(f"{', '.join(kinds)}; the first: {found[0]}")


def records_in(root: Path, topic: str = "orders") -> list[tuple[int, str | None, str | None]]:
    """Return offset, key and value of the records that a scan gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wb.CorruptDataWarning)
        table = (
            wb.open_log_directory(root)
            .scan(topics=topic, columns=["offset", "key", "value"])
            .to_arrow()
        )
    return [
        (offset, None if key is None else key.decode(), None if value is None else value.decode())
        for offset, key, value in zip(
            *(column.to_pylist() for column in table.columns), strict=True
        )
    ]


@contextmanager
def _process(target: Callable[..., None], *arguments: object) -> Iterator[None]:
    """Let a function run in a process of its own until the block ends."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.engine.killed_writer"])
    process = context.Process(target=target, args=arguments, daemon=True)
    process.start()
    try:
        yield
        assert process.is_alive()
    finally:
        process.kill()
        process.join()


ENGINE_ROUNDS: Final[dict[str, Callable[[Path, int], None]]] = {
    "kill writers": kill_writers,
    "kill while cleaning": kill_while_cleaning,
    "kill while restarting": kill_while_restarting,
    "kill managers": kill_managers,
    "crash": crash,
    "fail disk": fail_disk,
    "read beside cleaner": read_beside_cleaner,
}
"""By name."""
