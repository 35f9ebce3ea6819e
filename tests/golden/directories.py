"""The state of a log directory in plain values, and as text where two of them differ.

Read with `struct` and the standard library alone: what judges the engine shares nothing with it.
`state_of` takes a directory as it is on disk, `differences` compares what the engine left with
what a broker left. A difference has a kind, so that a table can say which of them are known.
"""

import hashlib
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import crc32c

BASE: Final = re.compile(r"(\d{20})\.(log|index|timeindex|txnindex|snapshot)$")
LEFTOVER: Final = re.compile(r"\.(deleted|cleaned|swap|part|tmp)$")
ENTRY: Final = {"index": ">ii", "timeindex": ">qi", "txnindex": ">hqqqq"}
SNAPSHOT_ENTRY: Final = struct.Struct(">qhiqiqiq")
CHECKPOINTS: Final = ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint")
UNIQUE: Final = re.compile(r"\.[0-9a-f]{32}-")
EPOCHS_TMP: Final = "leader-epoch-checkpoint.tmp"  # what a new epoch is written to, then renamed

Entries = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class PartitionState:
    """The contents of a partition directory.

    Attributes:
        logs: base offset to size and digest of each `.log`.
        indexes: kind ("index", "timeindex", "txnindex") to base offset to entries; a remainder
            that is no whole entry is an entry of its bytes. Zeros after an index, as a broker
            allocates them ahead, are left out.
        snapshots: offset to producers (producer id, epoch, last sequence, last offset, offset
            delta, timestamp, coordinator epoch, first offset of the open transaction), ascending
            by producer id; a damaged one is None.
        epochs: the leader epochs with their start offsets; None without a (readable) file.
        leftovers: names with `.deleted`, `.cleaned`, `.swap` and so on.
        unknown: other names but `partition.metadata` and `leader-epoch-checkpoint`.
    """

    logs: dict[int, tuple[int, str]]
    indexes: dict[str, dict[int, Entries]]
    snapshots: dict[int, Entries | None]
    epochs: Entries | None
    leftovers: frozenset[str]
    unknown: frozenset[str]


@dataclass(frozen=True)
class DirectoryState:
    """What a log directory holds: partitions by folder, checkpoints by name, the clean flag.

    The random part of a folder's name is a star: "orders-0.*-delete".
    """

    partitions: dict[str, PartitionState]
    checkpoints: dict[str, dict[str, int] | None] = field(default_factory=dict)
    is_clean: bool = False


def state_of(directory: Path) -> DirectoryState:
    """Read a log directory; a folder without `.log` files or leftovers is a partition, too."""
    folders = [path for path in sorted(directory.iterdir()) if path.is_dir()]
    return DirectoryState(
        {UNIQUE.sub(".*-", folder.name): partition_state(folder) for folder in folders},
        {name: _checkpoint(directory / name) for name in CHECKPOINTS},
        (directory / ".kafka_cleanshutdown").exists(),
    )


def partition_state(folder: Path) -> PartitionState:
    """Read one partition directory."""
    logs: dict[int, tuple[int, str]] = {}
    indexes: dict[str, dict[int, Entries]] = {kind: {} for kind in ENTRY}
    snapshots: dict[int, Entries | None] = {}
    leftovers, unknown = set(), set()
    for path in sorted(folder.iterdir()):
        found = BASE.fullmatch(path.name)
        if LEFTOVER.search(path.name):
            leftovers.add(path.name)
        elif found is None or path.is_dir():
            if path.name not in {"partition.metadata", "leader-epoch-checkpoint"}:
                unknown.add(path.name)
        elif found[2] == "log":
            data = path.read_bytes()
            logs[int(found[1])] = (len(data), hashlib.sha256(data).hexdigest()[:12])
        elif found[2] == "snapshot":
            snapshots[int(found[1])] = read_snapshot(path.read_bytes())
        else:
            indexes[found[2]][int(found[1])] = read_entries(path.read_bytes(), found[2])
    epochs = _epochs(folder / "leader-epoch-checkpoint")
    return PartitionState(
        logs, indexes, snapshots, epochs, frozenset(leftovers), frozenset(unknown)
    )


def read_entries(data: bytes, kind: str) -> Entries:
    """Return the entries of an index file in Kafka's order of fields."""
    form = struct.Struct(ENTRY[kind])
    if kind != "txnindex":
        used = len(data.rstrip(b"\0"))
        # A first entry may end in zeros, or be zeros: (0, 0) in a broker's own index.
        data = data[: -(-used // form.size) * form.size] if used else data[:0]
    whole = len(data) // form.size * form.size
    rest = (tuple(data[whole:]),) if whole < len(data) else ()
    return (*form.iter_unpack(data[:whole]), *rest)


def read_snapshot(data: bytes) -> Entries | None:
    """Return the producers of a snapshot; None if it is damaged."""
    if len(data) < 10:
        return None
    version, crc, count = struct.unpack_from(">hIi", data)
    size = 10 + count * SNAPSHOT_ENTRY.size
    if version != 1 or size != len(data) or crc32c.crc32c(data[6:]) != crc:
        return None
    return tuple(sorted(SNAPSHOT_ENTRY.iter_unpack(data[10:])))


def _lines(path: Path) -> list[list[str]] | None:
    if not path.exists():
        return None
    try:
        lines = [line.split() for line in path.read_text().splitlines()]
    except UnicodeDecodeError:
        return None
    if lines[:1] != [["0"]] or len(lines) < 2 or [str(len(lines) - 2)] != lines[1]:
        return None
    return lines[2:]


def _epochs(path: Path) -> Entries | None:
    lines = _lines(path)
    if lines is None or any(len(line) != 2 for line in lines):
        return None
    return tuple((int(epoch), int(start)) for epoch, start in lines)


def _checkpoint(path: Path) -> dict[str, int] | None:
    lines = _lines(path)
    if lines is None or any(len(line) != 3 for line in lines):
        return None
    return {f"{topic}-{partition}": int(offset) for topic, partition, offset in lines}


class Difference(NamedTuple):
    """One thing that is not as the broker left it.

    Attributes:
        kind: "log", "index", "timeindex", "txnindex", "snapshot", "epochs", "leftover",
            "unknown", "partition", "clean" or a checkpoint's name.
        partition: the folder, or empty.
        text: what is there and what should be.
    """

    kind: str
    partition: str
    text: str


def differences(
    ours: DirectoryState, theirs: DirectoryState, *, with_checkpoints: bool = True
) -> list[Difference]:
    """Return what differs, partition by partition, from what a broker left."""
    found: list[Difference] = []
    for name in sorted(ours.partitions.keys() | theirs.partitions.keys()):
        mine, its = ours.partitions.get(name), theirs.partitions.get(name)
        if mine is None or its is None:
            found.append(
                Difference("partition", name, "is gone" if mine is None else "is too much")
            )
        else:
            found += [Difference(d.kind, name, d.text) for d in partition_differences(mine, its)]
    if with_checkpoints:
        found += _checkpoint_differences(ours, theirs)
        if ours.is_clean != theirs.is_clean:
            found.append(Difference("clean", "", f"marker {ours.is_clean}, not {theirs.is_clean}"))
    return found


def partition_differences(ours: PartitionState, theirs: PartitionState) -> list[Difference]:
    """Return what differs in one partition."""
    found = [
        Difference("log", "", text)
        for text in _mapping(ours.logs, theirs.logs, "segment", lambda log: f"{log[0]} bytes")
    ]
    for kind in ENTRY:
        mine, its = ours.indexes[kind], theirs.indexes[kind]
        if kind == "txnindex":  # an empty one is as good as none
            mine = {base: entries for base, entries in mine.items() if entries}
            its = {base: entries for base, entries in its.items() if entries}
        found += [Difference(kind, "", text) for text in _mapping(mine, its, kind, _short)]
    found += [
        Difference("snapshot", "", text)
        for text in _mapping(ours.snapshots, theirs.snapshots, "snapshot", _short)
    ]
    if ours.epochs != theirs.epochs:
        found.append(Difference("epochs", "", f"{ours.epochs}, not {theirs.epochs}"))
    for kind, mine_, its_ in (
        ("leftover", ours.leftovers, theirs.leftovers),
        ("unknown", ours.unknown, theirs.unknown),
    ):
        found += [Difference(kind, "", f"{name} is too much") for name in sorted(mine_ - its_)]
        found += [Difference(kind, "", f"{name} is gone") for name in sorted(its_ - mine_)]
    return found


def _mapping(ours, theirs, what, show) -> Iterator[str]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    for base in sorted(ours.keys() | theirs.keys()):
        if base not in ours:
            yield f"{what} {base} is gone ({show(theirs[base])})"
        elif base not in theirs:
            yield f"{what} {base} is too much ({show(ours[base])})"
        elif ours[base] != theirs[base]:
            yield f"{what} {base}: {show(ours[base])}, not {show(theirs[base])}"


def _short(entries: Entries | None) -> str:
    if entries is None:
        return "damaged"
    text = " ".join(",".join(map(str, entry)) for entry in entries)
    return f"{len(entries)} entries {text[:300]}"


def _checkpoint_differences(ours: DirectoryState, theirs: DirectoryState) -> Iterator[Difference]:
    for name in CHECKPOINTS:
        mine, its = ours.checkpoints.get(name) or {}, theirs.checkpoints.get(name) or {}
        for folder in sorted(ours.partitions.keys() & theirs.partitions.keys()):
            if mine.get(folder) != its.get(folder):
                text = f"{mine.get(folder)}, not {its.get(folder)}"
                yield Difference(name, folder, text)


def with_leaders(ours: DirectoryState, theirs: DirectoryState) -> DirectoryState:
    """Return ours as it is once the broker's next leader epochs have begun at the logs' ends.

    A broker that has loaded its logs becomes leader, and writes the new epoch down; the engine
    alone does not. Nothing is changed where the broker's last epoch began elsewhere.

    Kafka: LeaderEpochFileCache.assign (4.2)
    """
    ends = theirs.checkpoints.get(CHECKPOINTS[0]) or {}
    partitions = {
        name: _with_leader(state, theirs.partitions[name], ends.get(name))
        if name in theirs.partitions
        else state
        for name, state in ours.partitions.items()
    }
    return DirectoryState(partitions, ours.checkpoints, ours.is_clean)


def _with_leader(ours: PartitionState, theirs: PartitionState, end: int | None) -> PartitionState:
    if not theirs.epochs or ours.epochs == theirs.epochs:
        return ours
    epoch, start = theirs.epochs[-1]
    if start != end or (ours.epochs and ours.epochs[-1][0] == epoch):
        return ours
    kept = tuple(e for e in ours.epochs or () if e[0] < epoch and e[1] < start)
    changed = {"epochs": (*kept, (epoch, start)), "leftovers": ours.leftovers - {EPOCHS_TMP}}
    return PartitionState(**{**vars(ours), **changed})
