"""The contents of a small file for JSON: an index, a snapshot, a checkpoint, a state file."""

import dataclasses
import os
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from workbench.errors import UnsupportedFormatError
from workbench.file_system.source import THIS_MACHINE, Files
from workbench.files import names
from workbench.files.checkpoints import OffsetCheckpoint
from workbench.files.clean_shutdown import CleanShutdown
from workbench.files.indexes.offset_index import OffsetIndex
from workbench.files.indexes.time_index import TimeIndex
from workbench.files.indexes.transaction_index import TransactionIndex
from workbench.files.leader_epochs import LeaderEpochs
from workbench.files.meta_properties import MetaProperties
from workbench.files.partition_metadata import PartitionMetadata
from workbench.files.producer_snapshot import ProducerSnapshot
from workbench.files.quorum_state import QuorumState
from workbench.files.text import format_uuid

_INDEXES: Final[dict[str, Callable[..., Any]]] = {
    "index": OffsetIndex.read,
    "timeindex": TimeIndex.read,
    "txnindex": TransactionIndex.read,
}
_BY_NAME: Final[dict[str, Callable[..., Any]]] = {
    **dict.fromkeys(names.OFFSET_CHECKPOINTS, OffsetCheckpoint.read),
    names.LEADER_EPOCHS: LeaderEpochs.read,
    names.PARTITION_METADATA: PartitionMetadata.read,
    names.META_PROPERTIES: MetaProperties.read,
    names.CLEAN_SHUTDOWN: CleanShutdown.read,
    names.QUORUM_STATE: QuorumState.read,
}
_LOGS: Final = ("log", "checkpoint")


def is_small_file_name(name: str) -> bool:
    """Return whether files of this name are for `small_file_facts`."""
    parsed = names.parse_file_name(name)
    kind = parsed.kind if parsed else None
    return in_use(name) in _BY_NAME or (kind is not None and kind not in _LOGS)


def in_use(name: str) -> str:
    """Return the name that a checkpoint gets once it is written."""
    return name.removesuffix(names.TEMPORARY)


def small_file_facts(
    path: str, most_entries: int | None, fs: Files = THIS_MACHINE
) -> dict[str, Any]:
    """Return the content of a file, as far as it can be read, and what is wrong with it.

    Args:
        path: the file's path.
        most_entries: the most entries; None: all.
        fs: what reads the file.

    Raises:
        UnsupportedFormatError: the name is not that of a known kind of file.
        OSError: the file cannot be read.
    """
    name = os.path.basename(path)
    parsed = names.parse_file_name(name)
    facts: dict[str, Any] = {"path": path, "size": fs.size_of(path)}
    if in_use(name) in _BY_NAME:
        content = _BY_NAME[in_use(name)](path, strict=False, fs=fs)
        facts.update(_plain(content))
    elif parsed is not None and parsed.kind in _INDEXES:
        content = _INDEXES[parsed.kind](path, parsed.offset, strict=False, fs=fs)
        entries = list(content)[:most_entries]
        facts["kind"] = parsed.kind
        facts["base_offset"] = parsed.offset
        facts["entries_in_use"] = len(content)
        if parsed.kind != "txnindex":  # the only one that is never preallocated
            facts["bytes_after_entries"] = content.slack
        facts["entries"] = [entry_facts(entry, parsed.offset) for entry in entries]
    elif parsed is not None and parsed.kind == "snapshot":
        content = ProducerSnapshot.read(path, strict=False, fs=fs)
        facts["kind"] = "snapshot"
        facts["offset"] = parsed.offset
        facts["producer_count"] = len(content.entries)
        facts["producers"] = [entry._asdict() for entry in content.entries[:most_entries]]
    else:
        raise UnsupportedFormatError(path, None, "the name is not that of a known kind of file")
    facts["problems"] = [str(problem) for problem in content.problems]
    return facts


def entry_facts(entry: Any, base_offset: int) -> dict[str, Any]:
    """Return the fields of an index entry, and beside its offset the stored, relative one."""
    facts: dict[str, Any] = {}
    for name, value in entry._asdict().items():
        facts[name] = value
        if name == "offset":
            facts["relative_offset"] = value - base_offset
    return facts


def _plain(content: Any) -> dict[str, Any]:
    """Return the fields of a small file, ready for JSON."""
    facts = {}
    for each in dataclasses.fields(content):
        value = getattr(content, each.name)
        if each.name == "problems":
            continue
        if isinstance(value, UUID):
            value = format_uuid(value)
        elif each.name == "offsets":
            value = [{"partition": str(where), "offset": offset} for where, offset in value.items()]
        elif each.name == "entries":
            value = [entry._asdict() for entry in value]
        elif isinstance(value, tuple):
            value = list(value)
        facts[each.name] = value
    return facts
