"""Check what only the metadata log of a KRaft cluster has: the quorum's state and its snapshots.

A `.checkpoint` holds the state up to the offset in its name, as batches whose offsets begin at 0.
`inspection.node_start` judges whether a node starts with them, as it does for `predict`.

Kafka: KafkaMetadataLog, RecordsSnapshotReader, FileQuorumStateStore (4.2)
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from workbench.config.broker_rules import MODELED_RULES, BrokerRules
from workbench.config.internal_topics import METADATA_TOPIC
from workbench.files import names
from workbench.inspection.entries import FileEntry
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Root
from workbench.inspection.node_start.bootstrap import judge_bootstrap
from workbench.inspection.node_start.judge import judge_metadata_log
from workbench.inspection.node_start.metadata_log import newest_snapshot
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import unreadable
from workbench.inspection.verify.segments.batches import verify_log
from workbench.inspection.verify.shutdown_state import SegmentContext, ShutdownState

_READ: Final = "A controller reads what is before it, without an error: what follows is not known."
_NOT_READ: Final = "A controller does not read this snapshot: a newer one is there."
_UNCHECKED: Final = "A controller reads this file without checking it."


def verify_metadata_log(
    partition: DiskPartition, *, deep: bool, rules: BrokerRules = MODELED_RULES
) -> Iterator[Finding]:
    """Yield what is wrong with `quorum-state` and the snapshots in a partition directory.

    Args:
        partition: the metadata log; other partitions have neither, and give no finding.
        deep: check CRCs and decode every record.
        rules: how nodes of the version that is assumed behave.
    """
    if partition.topic != METADATA_TOPIC:
        return
    refused = [refusal.finding for refusal in judge_metadata_log(partition, rules=rules)]
    yield from refused
    start = partition.segments[0].base_offset if partition.segments else 0
    newest = newest_snapshot(partition, start)
    for entry in partition.metadata_snapshots:
        if entry.path not in {finding.path for finding in refused}:
            is_read = newest is not None and newest.entry == entry
            yield from _verify_snapshot(entry, deep=deep, is_read=is_read)


def verify_bootstrap(root: Root) -> Iterator[Finding]:
    """Yield what is wrong with the `bootstrap.checkpoint` of the directory of a metadata log."""
    entry = root.file(names.BOOTSTRAP_CHECKPOINT)
    if entry is None:
        return
    refusal = judge_bootstrap(root)
    if refusal is not None:
        yield refusal.finding
    else:
        for finding in _batches_of(entry, deep=True):
            yield replace(finding, severity="warning", broker=_UNCHECKED)


def _verify_snapshot(entry: FileEntry, *, deep: bool, is_read: bool) -> Iterator[Finding]:
    """Yield what is wrong with the batches of a `.checkpoint` file."""
    for finding in _batches_of(entry, deep=deep):
        broker = _READ if is_read else _NOT_READ
        yield replace(finding, severity="error" if is_read else "warning", broker=broker)


def _batches_of(entry: FileEntry, *, deep: bool) -> list[Finding]:
    place = SegmentContext(
        entry, 0, None, 0, ShutdownState().of(names.TopicPartition(METADATA_TOPIC, 0))
    )
    try:
        return verify_log(place, deep=deep)[0]
    except OSError as error:
        return unreadable(entry.path, error)
