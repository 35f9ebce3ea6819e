"""What happens to files while a command runs: brokers, people and thieves change them.

A meddler takes the log directory that a command reads, the folder that it writes into, and a source
of chance. Beside that folder is `PRECIOUS`, a log directory that no command names.
"""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

from tests.campaign.mutations import choose

PRECIOUS: Final = "precious"
MOVED: Final = "moved"


def _logs(logs: Path) -> list[Path]:
    return sorted(logs.glob("*-*/*.log"))


def segments_deleted(logs: Path, _: Path, rng: Random) -> None:
    """Delete segments as retention does: their files get another name first."""
    found = _logs(logs)
    for log in found[: rng.randint(0, len(found))]:
        for file in log.parent.glob(f"{log.stem}.*"):
            file.rename(f"{file}.deleted")
            if rng.random() < 0.5:
                Path(f"{file}.deleted").unlink()


def truncated(logs: Path, _: Path, rng: Random) -> None:
    """Truncate logs as a follower does."""
    for log in _logs(logs):
        with suppress(OSError):
            os.truncate(log, rng.randint(0, log.stat().st_size))


def appended(logs: Path, _: Path, rng: Random) -> None:
    """Append to each log what begins it, whole or in part."""
    for log in _logs(logs):
        data = log.read_bytes()
        with log.open("ab") as file:
            file.write(data[: rng.choice((len(data), 7, 61, 300))])


def rolled(logs: Path, _: Path, rng: Random) -> None:
    """Roll: there are files of another segment, and the indexes before them become short."""
    for log in _logs(logs):
        stem = f"{int(log.stem) + rng.choice((1, 100, 1 << 20)):020}" if log.stem.isdigit() else "x"
        for ending in (".log", ".index", ".timeindex", ".snapshot"):
            with suppress(OSError):
                log.with_name(stem + ending).touch()
        index = log.with_suffix(".index")
        with suppress(OSError):
            os.truncate(index, index.stat().st_size // 16 * 8)


def checkpoints_rewritten(logs: Path, _: Path, rng: Random) -> None:
    """Write checkpoints again, beside the old ones first."""
    for file in [*logs.glob("*-checkpoint"), *logs.glob("*/leader-epoch-checkpoint")]:
        lines = file.read_bytes().splitlines(keepends=True)
        beside = file.with_name(f"{file.name}.tmp")
        beside.write_bytes(b"".join(lines[: rng.randint(0, len(lines))]))
        beside.replace(file)


def topics_deleted(logs: Path, _: Path, rng: Random) -> None:
    """Delete partitions as a broker does: the folder gets another name, and is removed later."""
    for folder in sorted(path for path in logs.iterdir() if path.is_dir()):
        if rng.random() < 0.7:
            deleted = folder.with_name(f"{folder.name}.{rng.randbytes(16).hex()}-delete")
            folder.rename(deleted)
            if rng.random() < 0.5:
                shutil.rmtree(deleted)


def directory_gone(logs: Path, _: Path, rng: Random) -> None:
    """Take the whole directory away, as an unmount does."""
    logs.rename(logs.with_name("unmounted"))
    if rng.random() < 0.5:
        logs.mkdir()


def mutated(logs: Path, _: Path, rng: Random) -> None:
    """Do what the campaign does to directories that stand still."""
    with suppress(OSError):
        choose(logs, rng)


def target_linked(_: Path, outer: Path, rng: Random) -> None:
    """Put links to what is precious at the names that a command is going to write to."""
    precious = outer.parent / PRECIOUS
    for name in ("copy", "lake", "records.parquet", "records.csv", "records.jsonl", "report.html"):
        place = outer / name
        with suppress(OSError):
            if os.path.lexists(place):
                place.rename(outer.parent / f"{MOVED}-{name}")
            is_file = "." in name
            place.symlink_to(_some_file(precious, rng) if is_file else precious)


def unfinished_linked(_: Path, outer: Path, rng: Random) -> None:
    """Put links in the place of what a command has begun to write."""
    precious = outer.parent / PRECIOUS
    for number, path in enumerate(sorted(outer.iterdir())):
        same = precious / path.name
        is_folder = path.is_dir()
        with suppress(OSError):
            path.rename(outer.parent / f"{MOVED}-{number}")
            if not same.exists():
                same = precious if is_folder else _some_file(precious, rng)
            path.symlink_to(same)


def outer_linked(_: Path, outer: Path, __: Random) -> None:
    """Put a link to what is precious in the place of the folder that a command writes into."""
    outer.rename(outer.parent / MOVED)
    outer.symlink_to(outer.parent / PRECIOUS)


def _some_file(precious: Path, rng: Random) -> Path:
    return rng.choice(sorted(path for path in precious.rglob("*") if path.is_file()))


OF_INPUTS: Final[tuple[str, ...]] = (
    "segments deleted", "truncated", "appended", "rolled", "checkpoints rewritten",
    "topics deleted", "directory gone", "mutated",
)  # fmt: skip
OF_OUTPUTS: Final[tuple[str, ...]] = ("target linked", "unfinished linked", "outer linked")
MEDDLERS: Final[dict[str, Callable[[Path, Path, Random], None]]] = {
    "segments deleted": segments_deleted,
    "truncated": truncated,
    "appended": appended,
    "rolled": rolled,
    "checkpoints rewritten": checkpoints_rewritten,
    "topics deleted": topics_deleted,
    "directory gone": directory_gone,
    "mutated": mutated,
    "target linked": target_linked,
    "unfinished linked": unfinished_linked,
    "outer linked": outer_linked,
}
"""By name."""
