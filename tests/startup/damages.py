"""Damages of a broker's metadata log and identities, each a small change of a sound directory.

`make.py` lets real brokers start on them, and `test_starts.py` predicts the same starts. Every
change is countable by hand: a file removed, emptied, cut or edited.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from tests.field.cases import open_field_case
from tests.golden.archive import extract
from tests.golden.cases import ARCHIVES

METADATA: Final = "__cluster_metadata-0"
OTHER_ID: Final = "AAAAAAAAAAAAAAAAAAAHkQ"
NEW_ID: Final = "AAAAAAAAAAAAAAAAAAAHkg"

Change = Callable[[Path], None]


class Damage(NamedTuple):
    """A damage.

    Attributes:
        base: the sound directory that it changes; see `open_base`.
        change: changes it; gets the folder that holds the log directories.
        log_dirs: the folders named in `log.dirs`, in this order.
        node_id: the id that the broker is configured with.
    """

    base: str
    change: Change
    log_dirs: tuple[str, ...] = ("data",)
    node_id: int = 1


def open_base(base: str, into: Path) -> Path:
    """Write a sound directory of a broker below ``into``; return the folder of its log.dirs.

    - "plain": 4.2.0, topics orders (2 partitions) and stock; one metadata segment, no snapshot.
    - "disks": 4.2.0, two log.dirs, d1 and d2.
    - "raft": 4.2.0, 12 topics, six metadata segments from 0, snapshots at 93, 183 and 375.
    - "dynamic": 4.2.0, kraft.version 1, snapshots at 0, 180 and 383.
    - "zookeeper": 2.8.2, a directory with `meta.properties` of version 0.
    - "3.7", "3.9": brokers of these versions, topics orders (2 partitions) and stock.
    - "3.0", "3.3", "3.6", "4.4": the same on two log.dirs, d1 and d2, as "disks"; the files of
      ZooKeeper, which 3.0 has, are in the folder beside them.
    """
    if base in {"plain", "disks"}:
        case = open_field_case({"plain": "lost-and-found", "disks": "two-disks"}[base], into)
        found = case.data
        if base == "plain":
            (found / "lost+found").rmdir()
            return found.parent
        shutil.rmtree(found / "d2" / "orders-0")
        return found
    if base[0].isdecimal():
        extract(Path(__file__).parent / "bases" / f"{base}.tar.xz", into)
        return into
    name, label = {
        "raft": ("4.2.0-raft", "after"),
        "dynamic": ("4.2.0-raft-dynamic", "after"),
        "zookeeper": ("2.8.2-plain-kafka-python", "data"),
    }[base]
    extract(ARCHIVES / f"{name}.tar.xz", into / name)
    (into / name / label).rename(into / "data")
    return into


def _write(name: str, content: bytes | str) -> Change:
    data = content.encode() if isinstance(content, str) else content
    return lambda root: _made(root / name, data)


def _made(path: Path, data: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def _edit(name: str, pattern: str, text: str) -> Change:
    """Replace what a regular expression finds in a text; it must find something."""

    def change(root: Path) -> None:
        path = root / name
        changed, count = re.subn(pattern, text, path.read_text(), flags=re.MULTILINE)
        assert count, path
        path.write_text(changed)

    return change


def _remove(*patterns: str) -> Change:
    def change(root: Path) -> None:
        for pattern in patterns:
            found = list(root.glob(pattern))
            assert found, pattern
            for path in found:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    return change


def _cut(name: str, count: int) -> Change:
    """Remove bytes from the end of a file."""
    return lambda root: _made(root / name, (root / name).read_bytes()[:-count])


def _append(name: str, data: bytes) -> Change:
    return lambda root: _made(root / name, (root / name).read_bytes() + data)


def _flip(name: str, text: bytes, delta: int = 0) -> Change:
    """Change a byte where a text first stands in a file."""

    def change(root: Path) -> None:
        data = bytearray((root / name).read_bytes())
        data[data.index(text) + delta] ^= 1
        (root / name).write_bytes(data)

    return change


def _change_byte(name: str, position: int) -> Change:
    def change(root: Path) -> None:
        data = bytearray((root / name).read_bytes())
        data[position] ^= 1
        (root / name).write_bytes(data)

    return change


def _copy(source: str, target: str) -> Change:
    def change(root: Path) -> None:
        copy = shutil.copytree if (root / source).is_dir() else shutil.copy2
        copy(root / source, root / target)

    return change


def _rename(source: str, target: str) -> Change:
    def change(root: Path) -> None:
        (root / source).rename(root / target)

    return change


def _all(*changes: Change) -> Change:
    def change(root: Path) -> None:
        for each in changes:
            each(root)

    return change


def _nothing(root: Path) -> None:
    """Change nothing."""


_KILLED: Final = _remove("*/.kafka_cleanshutdown", "*/recovery-point-offset-checkpoint")
_LOG: Final = f"data/{METADATA}/{0:020d}.log"
_STATE: Final = f"data/{METADATA}/quorum-state"
_PROPERTIES: Final = "data/meta.properties"
_BOOTSTRAP: Final = "data/bootstrap.checkpoint"
_RAFT: Final = f"data/{METADATA}"
_NEWEST: Final = f"{_RAFT}/00000000000000000375-0000000004.checkpoint"
_NEWEST_DYNAMIC: Final = f"{_RAFT}/00000000000000000383-0000000004.checkpoint"


def _state(
    leader: int = 1,
    epoch: int = 1,
    voted: int = -1,
    voters: str = '[{"voterId":1}]',
    version: int = 0,
) -> Change:
    text = (
        f'{{"clusterId":"","leaderId":{leader},"leaderEpoch":{epoch},"votedId":{voted},'
        f'"appliedOffset":0,"currentVoters":{voters},"data_version":{version}}}'
    )
    return _write(_STATE, text)


def _plain(change: Change) -> Damage:
    return Damage("plain", change)


def _raft(change: Change) -> Damage:
    return Damage("raft", change)


def _dynamic(change: Change) -> Damage:
    return Damage("dynamic", change)


def _disks(change: Change, *log_dirs: str) -> Damage:
    return Damage("disks", change, log_dirs or ("d1", "d2"))


DAMAGES: Final[dict[str, Damage]] = {
    "plain-sound": _plain(_nothing),
    "plain-killed": _plain(_KILLED),
    # quorum-state
    "state-empty": _plain(_write(_STATE, "")),
    "state-blank-line": _plain(_write(_STATE, "\n")),
    "state-zeros": _plain(_write(_STATE, bytes(125))),
    "state-garbage": _plain(_write(_STATE, '{"clusterId":')),
    "state-no-object": _plain(_write(_STATE, "[]")),
    "state-no-version": _plain(_edit(_STATE, r',"data_version":0', "")),
    "state-version-2": _plain(_edit(_STATE, r'"data_version":0', '"data_version":2')),
    "state-version-1-as-0": _plain(_edit(_STATE, r'"data_version":0', '"data_version":1')),
    "state-version-1": _plain(
        _write(
            _STATE,
            '{"leaderId":1,"leaderEpoch":1,"votedId":-1,'
            '"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}',
        )
    ),
    "state-no-leader-id": _plain(_edit(_STATE, r'"leaderId":1,', "")),
    "state-no-cluster-id": _plain(_edit(_STATE, r'"clusterId":"",', "")),
    "state-second-line": _plain(_edit(_STATE, r"\Z", "\ngarbage")),
    "state-after-object": _plain(_edit(_STATE, r"\Z", "garbage")),
    "state-text-for-number": _plain(_edit(_STATE, r'"leaderId":1', '"leaderId":"x"')),
    "state-more-fields": _plain(_edit(_STATE, r"^\{", '{"more":1,')),
    "state-missing": _plain(_remove(_STATE)),
    "state-other-voter": _plain(_state(voters='[{"voterId":2}]')),
    "state-two-voters": _plain(_state(voters='[{"voterId":1},{"voterId":2}]')),
    "state-other-leader": _plain(_state(leader=2)),
    "state-voted-other": _plain(_state(leader=-1, voted=2)),
    "state-voted-self": _plain(_state(leader=-1, voted=1)),
    "state-older-epoch": _plain(_state(epoch=0)),
    "state-later-epoch": _plain(_state(epoch=99)),
    # the metadata log
    "log-tail-torn": _plain(_cut(_LOG, 40)),
    "log-tail-zeros": _plain(_append(_LOG, bytes(300))),
    "log-stock-flipped": _plain(_flip(_LOG, b"stock")),
    "log-stock-flipped-killed": _plain(_all(_flip(_LOG, b"stock"), _KILLED)),
    "log-orders-flipped": _plain(_flip(_LOG, b"orders")),
    "log-first-flipped": _plain(_flip(_LOG, b"metadata.version")),
    "log-emptied": _plain(_write(_LOG, "")),
    "log-removed": _plain(_remove(_LOG)),
    "metadata-folder-removed": _plain(_remove(_RAFT)),
    "metadata-epochs-removed": _plain(_remove(f"{_RAFT}/leader-epoch-checkpoint")),
    "metadata-epochs-garbage": _plain(_write(f"{_RAFT}/leader-epoch-checkpoint", "garbage")),
    "metadata-id-other": _plain(
        _edit(f"{_RAFT}/partition.metadata", r"topic_id: \S+", f"topic_id: {OTHER_ID}")
    ),
    "metadata-id-removed": _plain(_remove(f"{_RAFT}/partition.metadata")),
    "metadata-id-garbage": _plain(_write(f"{_RAFT}/partition.metadata", "garbage")),
    "metadata-odd-file": _plain(_write(f"{_RAFT}/odd.log", "")),
    # bootstrap.checkpoint
    "bootstrap-removed": _plain(_remove(_BOOTSTRAP)),
    "bootstrap-empty": _plain(_write(_BOOTSTRAP, "")),
    "bootstrap-garbage": _plain(_write(_BOOTSTRAP, "garbage " * 20)),
    "bootstrap-flipped": _plain(_flip(_BOOTSTRAP, b"metadata.version")),
    "bootstrap-torn": _plain(_cut(_BOOTSTRAP, 40)),
    "bootstrap-and-log-removed": _plain(_remove(_BOOTSTRAP, _LOG)),
    # meta.properties
    "properties-other-node": _plain(_edit(_PROPERTIES, r"node\.id=1", "node.id=2")),
    "properties-other-node-agreed": Damage(
        "plain", _edit(_PROPERTIES, r"node\.id=1", "node.id=2"), node_id=2
    ),
    "properties-other-cluster": _plain(
        _edit(_PROPERTIES, r"cluster\.id=\S+", f"cluster.id={OTHER_ID}")
    ),
    "properties-no-cluster": _plain(_edit(_PROPERTIES, r"cluster\.id=\S+", "")),
    "properties-no-node": _plain(_edit(_PROPERTIES, r"node\.id=\S+", "")),
    "properties-no-directory": _plain(_edit(_PROPERTIES, r"directory\.id=\S+", "")),
    "properties-other-directory": _plain(
        _edit(_PROPERTIES, r"directory\.id=\S+", f"directory.id={NEW_ID}")
    ),
    "properties-reserved-directory": _plain(
        _edit(_PROPERTIES, r"directory\.id=\S+", "directory.id=AAAAAAAAAAAAAAAAAAAAAQ")
    ),
    "properties-garbage-directory": _plain(
        _edit(_PROPERTIES, r"directory\.id=\S+", "directory.id=?")
    ),
    "properties-version-0": _plain(
        _all(
            _edit(_PROPERTIES, r"version=1", "version=0"),
            _edit(_PROPERTIES, r"node\.id", "broker.id"),
        )
    ),
    "properties-version-0-node-id": _plain(_edit(_PROPERTIES, r"version=1", "version=0")),
    "properties-version-2": _plain(_edit(_PROPERTIES, r"version=1", "version=2")),
    "properties-no-version": _plain(_edit(_PROPERTIES, r"version=1", "")),
    "properties-empty": _plain(_write(_PROPERTIES, "")),
    "properties-zeros": _plain(_write(_PROPERTIES, bytes(122))),
    "properties-removed": _plain(_remove(_PROPERTIES)),
    # topics
    "topic-id-other": _plain(
        _edit("data/stock-0/partition.metadata", r"topic_id: \S+", f"topic_id: {OTHER_ID}")
    ),
    "topic-id-removed": _plain(_remove("data/stock-0/partition.metadata")),
    "topic-id-garbage": _plain(_write("data/stock-0/partition.metadata", "garbage")),
    "topic-unknown": _plain(
        _all(
            _copy("data/stock-0", "data/ghost-0"),
            _edit("data/ghost-0/partition.metadata", r"topic_id: \S+", f"topic_id: {OTHER_ID}"),
        )
    ),
    "topic-name-other": _plain(_rename("data/stock-0", "data/ghost-0")),
    "topic-name-twice": _plain(_copy("data/stock-0", "data/ghost-0")),
    "partition-unknown": _plain(_copy("data/stock-0", "data/stock-7")),
    "partition-removed": _plain(_remove("data/stock-0")),
    "partition-emptied": _plain(_remove("data/stock-0/*")),
    # snapshots
    "raft-sound": _raft(_nothing),
    "raft-newest-removed": _raft(_remove(_NEWEST)),
    "raft-newest-empty": _raft(_write(_NEWEST, "")),
    "raft-newest-torn": _raft(_cut(_NEWEST, 60)),
    "raft-newest-half": _raft(_cut(_NEWEST, 3000)),
    "raft-newest-header-torn": _raft(_cut(_NEWEST, 5827)),
    "raft-newest-flipped": _raft(_flip(_NEWEST, b"meta-0-2", 3)),
    "raft-newest-garbage": _raft(_write(_NEWEST, "garbage " * 99)),
    "raft-newest-partial": _raft(_rename(_NEWEST, f"{_NEWEST}.part")),
    "raft-newest-deleted": _raft(_rename(_NEWEST, f"{_NEWEST}.deleted")),
    "raft-older-garbage": _raft(
        _write(f"{_RAFT}/00000000000000000183-0000000002.checkpoint", "garbage " * 9)
    ),
    "raft-snapshots-removed": _raft(_remove(f"{_RAFT}/*.checkpoint")),
    "raft-newest-later": _raft(
        _rename(_NEWEST, f"{_RAFT}/00000000000000000999-0000000004.checkpoint")
    ),
    "raft-newest-later-epoch": _raft(
        _rename(_NEWEST, f"{_RAFT}/00000000000000000375-0000000009.checkpoint")
    ),
    "raft-start-at-274": _raft(
        _remove(*(f"{_RAFT}/{base:020d}.*" for base in (0, 53, 101, 159, 220)))
    ),
    "raft-start-at-274-newest-removed": _raft(
        _remove(_NEWEST, *(f"{_RAFT}/{base:020d}.*" for base in (0, 53, 101, 159, 220)))
    ),
    "raft-logs-removed": _raft(_remove(f"{_RAFT}/*.log")),
    "raft-logs-and-snapshots-removed": _raft(
        _remove(f"{_RAFT}/*.log", f"{_RAFT}/*.checkpoint")
    ),
    "raft-first-of-last-flipped": _raft(
        _change_byte(f"{_RAFT}/{343:020d}.log", 70)
    ),
    "raft-segment-removed": _raft(_remove(f"{_RAFT}/{220:020d}.*")),
    "raft-last-removed": _raft(_remove(f"{_RAFT}/{343:020d}.*")),
    # the dynamic quorum
    "dynamic-sound": _dynamic(_nothing),
    "dynamic-other-directory": _dynamic(
        _edit(_PROPERTIES, r"directory\.id=\S+", f"directory.id={NEW_ID}")
    ),
    "dynamic-no-directory": _dynamic(_edit(_PROPERTIES, r"directory\.id=\S+", "")),
    "dynamic-snapshots-removed": _dynamic(_remove(f"{_RAFT}/*.checkpoint")),
    "dynamic-newest-removed": _dynamic(_remove(_NEWEST_DYNAMIC)),
    "dynamic-state-missing": _dynamic(_remove(_STATE)),
    "dynamic-metadata-folder-removed": _dynamic(_remove(_RAFT)),
    # several log directories
    "disks-sound": _disks(_nothing),
    "disks-d2-not-named": _disks(_nothing, "d1"),
    "disks-d2-removed": _disks(_remove("d2")),
    "disks-d2-emptied": _disks(_remove("d2/*")),
    "disks-d2-no-properties": _disks(_remove("d2/meta.properties")),
    "disks-swapped": _disks(_nothing, "d2", "d1"),
    "disks-d1-not-named": _disks(_nothing, "d2"),
    "disks-same-directory-id": _disks(_copy("d1/meta.properties", "d2/meta.properties")),
    "disks-duplicate": _disks(_copy("d1/orders-0", "d2/orders-0")),
    "disks-moved": _disks(_rename("d1/orders-0", "d2/orders-0")),
    "disks-other-cluster": _disks(
        _edit("d2/meta.properties", r"cluster\.id=\S+", f"cluster.id={OTHER_ID}")
    ),
    "disks-d2-properties-zeros": _disks(_write("d2/meta.properties", bytes(122))),
    "disks-d2-properties-version-2": _disks(_edit("d2/meta.properties", "version=1", "version=2")),
    "disks-d2-properties-no-cluster": _disks(_edit("d2/meta.properties", r"cluster\.id=\S+", "")),
    "disks-d1-properties-version-2": _disks(_edit("d1/meta.properties", "version=1", "version=2")),
    "disks-d2-a-file": _disks(_all(_remove("d2"), _write("d2", ""))),
    "disks-d2-epochs-garbage": _disks(_write("d2/stock-0/leader-epoch-checkpoint", "garbage")),
    "disks-d2-metadata-log": _disks(_copy(f"d1/{METADATA}", f"d2/{METADATA}")),
    "disks-future-assigned-here": _disks(
        _rename("d1/orders-0", f"d1/orders-0.{1:032x}-future")
    ),
    "disks-future-and-current": _disks(
        _copy("d1/orders-0", f"d2/orders-0.{1:032x}-future")
    ),
    "disks-d2-quorum-topics-lost": _disks(
        _flip(f"d1/{METADATA}/{0:020d}.log", b"orders")
    ),
    # ZooKeeper's
    "zookeeper": Damage("zookeeper", _nothing),
}  # fmt: skip

_OF_OLDER: Final = (
    "plain-sound", "plain-killed", "state-empty", "state-zeros", "state-no-leader-id",
    "state-version-2", "state-version-1", "state-missing", "state-other-voter",
    "state-two-voters", "state-other-leader", "state-voted-other", "log-tail-torn",
    "log-stock-flipped", "log-first-flipped", "metadata-folder-removed",
    "metadata-epochs-garbage", "metadata-id-other", "bootstrap-removed", "bootstrap-garbage",
    "properties-other-node", "properties-no-directory", "properties-version-0",
    "properties-version-2", "properties-removed", "properties-zeros", "topic-id-other",
    "topic-id-removed", "topic-unknown", "topic-name-other", "partition-unknown",
    "partition-removed",
)  # fmt: skip
"""Damages of the base "plain" that are also done to directories of older brokers."""

DAMAGES.update(
    (f"{base}-{name}", DAMAGES[name]._replace(base=base))
    for base in ("3.7", "3.9")
    for name in _OF_OLDER
)

_META_1: Final = f"d1/{METADATA}"
_ID: Final = "d2/stock-0/partition.metadata"


def _swap(*patterns: str) -> Change:
    """Exchange the contents of two files."""

    def change(root: Path) -> None:
        one, other = (next(root.glob(pattern)) for pattern in patterns)
        first, second = one.read_bytes(), other.read_bytes()
        one.write_bytes(second)
        other.write_bytes(first)

    return change


def _write_first(pattern: str, text: str) -> Change:
    return lambda root: _made(min(root.glob(pattern)), text.encode())


_OF_TWO_DISKS: Final[dict[str, Change]] = {
    "sound": _nothing,
    # partition.metadata
    "id-empty": _write(_ID, ""),
    "id-short": _edit(_ID, r"topic_id: \S+", "topic_id: abc"),
    "id-garbage": _write(_ID, "garbage"),
    "id-version-1": _edit(_ID, "version: 0", "version: 1"),
    "id-removed": _remove(_ID),
    "id-other": _edit(_ID, r"topic_id: \S+", f"topic_id: {OTHER_ID}"),
    "ids-swapped": _swap(_ID, "d?/orders-0/partition.metadata"),
    # folders
    "partition-unknown": _copy("d2/stock-0", "d2/stock-7"),
    "partition-emptied": _remove("d2/stock-0/*"),
    "topic-unknown-emptied": lambda root: (root / "d2/void-0").mkdir(),
    "topic-invalid-emptied": lambda root: (root / "d2/a b-0").mkdir(),
    "partition-arabic": _copy("d2/stock-0", "d2/stock-\u0667"),
    "stray-folder": _copy("d2/stock-0", f"d2/ghost-0.{1:032x}-stray"),
    "epochs-garbage": _write("d2/stock-0/leader-epoch-checkpoint", "garbage"),
    # the files of a log directory: d1 has the metadata log
    **{
        f"{disk}-{name}": _write(f"{disk}/{file}", text)
        for disk in ("d1", "d2")
        for name, file, text in (
            ("recovery-points-garbage", "recovery-point-offset-checkpoint", "garbage"),
            ("start-offsets-version-1", "log-start-offset-checkpoint", "1\n0\n"),
            ("high-watermarks-blank", "replication-offset-checkpoint", "\n"),
        )
    },
    "d1-id-garbage": _write_first("d1/orders-*/partition.metadata", "garbage"),
    "d2-properties-version-7": _edit("d2/meta.properties", "version=[01]", "version=7"),
    "d2-node-other": _edit("d2/meta.properties", r"(node|broker)\.id=1", r"\1.id=2"),
    "d2-cluster-other": _edit("d2/meta.properties", r"cluster\.id=\S+", f"cluster.id={OTHER_ID}"),
    "node-other": _all(
        *(_edit(f"{d}/meta.properties", r"(node|broker)\.id=1", r"\1.id=2") for d in ("d1", "d2"))
    ),
    "d2-emptied": _all(_remove("d2"), lambda root: (root / "d2").mkdir()),
}
_OF_METADATA: Final[dict[str, Change]] = {
    "metadata-folder-removed": _remove(_META_1),
    "metadata-emptied": _write(f"{_META_1}/{0:020d}.log", ""),
    "state-version-90": _edit(f"{_META_1}/quorum-state", r'"data_version":\d', '"data_version":90'),
    "snapshot-garbage": _write(f"{_META_1}/{5:020d}-{1:010d}.checkpoint", "garbage"),
    "snapshot-empty": _write(f"{_META_1}/{5:020d}-{1:010d}.checkpoint", ""),
}
_OF_DIRECTORY_IDS: Final[dict[str, Change]] = {
    "d2-directory-id-other": _edit(
        "d2/meta.properties", r"directory\.id=\S+", f"directory.id={NEW_ID}"
    ),
    "d2-directory-id-removed": _edit("d2/meta.properties", r"directory\.id=\S+", ""),
}
DAMAGES.update(
    (f"{base}-{name}", _disks(change)._replace(base=base))
    for base, changes in {
        "3.0": _OF_TWO_DISKS,
        "3.3": _OF_TWO_DISKS | _OF_METADATA,
        "3.6": _OF_TWO_DISKS | _OF_METADATA,
        "disks": _OF_TWO_DISKS | _OF_DIRECTORY_IDS,
        "4.4": _OF_TWO_DISKS | _OF_METADATA | _OF_DIRECTORY_IDS,
    }.items()
    for name, change in changes.items()
    if f"{base}-{name}" not in DAMAGES
)
