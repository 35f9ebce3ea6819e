"""Log directories with one partition that is damaged by hand, each at one named place.

Each mutation is a function that changes the folder of a healthy partition; `build` lays the folder
out beside a healthy neighbor. CRCs are mended after a change, so that what is deeper is reached.
"""

import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import crc32c

from tests.corrupt import edit, overwrite
from workbench.layout.batch_header import BATCH_HEADER, CRC_FROM, LENGTH_END
from workbench.layout.structure import place

Mutation = Callable[[Path], object]

SAMPLES: Final = Path(__file__).parents[1] / "sample_data" / "damaged"
DAMAGED: Final = "bad-0"
HEALTHY: Final = "good-0"

_MIDDLE: Final = 18  # base offset of a segment that is neither the first nor the last
_LAST: Final = 54
_INT32: Final = (-(2**31), -1, 0, 2**31 - 1)
_INT64: Final = (-(2**63), -1, 0, 2**40, 2**63 - 1)
_EXTREMES: Final[dict[str, tuple[int, ...]]] = {
    "base_offset": _INT64,
    "batch_length": (*_INT32, 1, 14, 48, 49),
    "partition_leader_epoch": _INT32,
    "magic": (-128, -1, 0, 1, 3, 127),
    "attributes": (-(2**15), -1, 1, 2, 3, 4, 5, 7, 0x10, 0x20, 0x30, 0x40, 2**15 - 1),
    "last_offset_delta": _INT32,
    "base_timestamp": _INT64,
    "max_timestamp": _INT64,
    "producer_id": _INT64,
    "producer_epoch": (-(2**15), -1, 0, 2**15 - 1),
    "base_sequence": _INT32,
    "record_count": (*_INT32, 1, 100),
}
_FORMATS: Final = {1: "b", 2: "h", 4: "i", 8: "q"}


def segment(folder: Path, base_offset: int, kind: str = "log") -> Path:
    """Return the path of a file of a segment."""
    return folder / f"{base_offset:020d}.{kind}"


def batch_positions(data: bytes) -> list[int]:
    """Return where the batches of a healthy `.log` begin."""
    found, at = [], 0
    while at < len(data):
        found.append(at)
        at += LENGTH_END + int.from_bytes(data[at + LENGTH_END - 4 : at + LENGTH_END])
    return found


def with_mended_crc(data: bytes, position: int) -> bytes:
    """Return the bytes of a `.log` with the CRC of the batch at a position made to fit."""
    size = LENGTH_END + int.from_bytes(data[position + LENGTH_END - 4 : position + LENGTH_END])
    covered = data[position + CRC_FROM : position + size]
    crc = struct.pack(">I", crc32c.crc32c(covered))
    return overwrite(data, position + place(BATCH_HEADER, "crc"), crc)


def set_field(path: Path, batch: int, field: str, value: int) -> None:
    """Set a field of a batch's header; its CRC fits, unless its length was changed."""
    data = path.read_bytes()
    at = batch_positions(data)[batch]
    size = BATCH_HEADER[field].itemsize
    data = overwrite(
        data, at + place(BATCH_HEADER, field), struct.pack(f">{_FORMATS[size]}", value)
    )
    path.write_bytes(data if field == "batch_length" else with_mended_crc(data, at))


def build(directory: Path, mutation: Mutation) -> Path:
    """Lay out a log directory with a damaged and a healthy partition; return its path."""
    return build_many(directory, [mutation])


def build_many(directory: Path, mutations: Sequence[Mutation]) -> Path:
    """Lay out a log directory with a healthy partition and one per mutation; return its path.

    Args:
        directory: made.
        mutations: each changes a folder of its own, `DAMAGED` being the first.
    """
    directory.mkdir()
    shutil.copy(SAMPLES / "meta.properties", directory)
    shutil.copytree(SAMPLES / "healthy-0", directory / HEALTHY)
    topic = DAMAGED.removesuffix("-0")
    for number, mutation in enumerate(mutations):
        folder = directory / f"{topic}-{number}"
        shutil.copytree(SAMPLES / "healthy-0", folder)
        mutation(folder)
    return directory


def with_recovery_points(directory: Path, offset: int = 72) -> None:
    """Let the directory say that nothing below an offset needs to be recovered."""
    rows = [f"{name.removesuffix('-0')} 0 {offset}" for name in (DAMAGED, HEALTHY)]
    text = "\n".join(["0", str(len(rows)), *rows, ""])
    (directory / "recovery-point-offset-checkpoint").write_text(text)


def _rename_folder(name: str) -> Mutation:
    return lambda folder: folder.rename(folder.parent / name)


def _file(name: str, data: bytes = b"") -> Mutation:
    return lambda folder: (folder / name).write_bytes(data)


def _folder_in_place_of(name: str) -> Mutation:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return change


def field(base_offset: int, batch: int, name: str, value: int) -> Mutation:
    """Return what sets a field of the header of one batch of a segment."""
    return lambda folder: set_field(segment(folder, base_offset), batch, name, value)


def _cut_to(name: str, size: int) -> Mutation:
    return lambda folder: edit(folder / name, lambda data: data[:size])


def _filled(name: str, byte: bytes) -> Mutation:
    return lambda folder: edit(folder / name, lambda data: byte * len(data))


def names() -> Iterator[tuple[str, Mutation]]:
    """Yield mutations of names of files and folders."""
    for name in (
        "99999999999999999999.log",
        "99999999999999999999.index",
        "9223372036854775807.log",
        "09223372036854775807.log",
        "09223372036854775807.index",
        "18446744073709551615.log",
        "-1.log",
        "-0000000000000000001.log",
        "x.log",
        ".log",
        "5.log",
        "00000000000000000005.log.swap",
        "99999999999999999999.log.swap",
        "x.log.cleaned",
        "99999999999999999999.snapshot",
        "x.snapshot",
        "09223372036854775807.snapshot",
        "99999999999999999999.txnindex",
        "00000000000000000000-9999999999.checkpoint",
        "\N{ARABIC-INDIC DIGIT FIVE}.log",
        "a\nb\x1b[31m.log",
    ):
        yield f"empty file {name!r}", _file(name)
    for kind in ("log", "index", "timeindex", "snapshot"):
        name = segment(Path(), _MIDDLE, kind).name
        yield f"a folder as {name}", _folder_in_place_of(name)
    for name in ("leader-epoch-checkpoint", "partition.metadata"):
        yield f"a folder as {name}", _folder_in_place_of(name)
    for name in (
        "t-99999999999",
        "t-2147483647",
        "t-2147483648",
        "t--1",
        "-0",
        "t-",
        "t",
        f"{'t' * 245}-0",
        "\N{SNOWMAN}-0",
        "a b-0",
        "t-0.x-delete",
        f"t-0.{'0' * 32}-delete",
        f"t-0.{'0' * 32}-stray",
        f"t-0.{'0' * 32}-future",
        "t-\N{ARABIC-INDIC DIGIT FIVE}",
        "t-+5",
        "a\nb-0",
    ):
        yield f"folder {name!r}", _rename_folder(name)


def fields() -> Iterator[tuple[str, Mutation]]:
    """Yield mutations of each field of batch headers, in a middle segment and in the last."""
    for base_offset, batch in ((_MIDDLE, 0), (_MIDDLE, 2), (36, -1), (_LAST, -1)):
        for name, values in _EXTREMES.items():
            for value in values:
                label = f"{name} {value} in batch {batch} of {base_offset}"
                yield label, field(base_offset, batch, name, value)


def cuts() -> Iterator[tuple[str, Mutation]]:
    """Yield files cut to small sizes, or filled with what they do not hold."""
    files = [
        segment(Path(), base, kind).name
        for base in (_MIDDLE, _LAST)
        for kind in ("log", "index", "timeindex", "snapshot")
    ]
    files += ["leader-epoch-checkpoint", "partition.metadata", f"{72:020d}.snapshot"]
    for name in files:
        for size in (0, 1, 7, 8, 11, 12, 13, 16, 17, 18, 60, 61, 62, 100):
            yield f"{name} of {size} bytes", _cut_to(name, size)
        for byte in (b"\xff", b"\0", b"\x7f", b"\x80"):
            yield f"{name} of {byte!r}", _filled(name, byte)
