"""Judge the files beside a metadata log together, in the order in which a node reads them.

Kafka: KafkaMetadataLog.apply, KafkaRaftClient.initialize (4.2)
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from workbench.config.broker_rules import MODELED_RULES, BrokerRules
from workbench.files import names
from workbench.files.quorum_state import QuorumState
from workbench.inspection.findings import Finding
from workbench.inspection.node_start.bootstrap import judge_contents
from workbench.inspection.node_start.metadata_log import judge_snapshots, newest_snapshot
from workbench.inspection.node_start.quorum_state import judge_quorum_state
from workbench.inspection.node_start.refusal import Refusal
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable

METADATA_TOPIC_ID: Final = "AAAAAAAAAAAAAAAAAAAAAQ"

_INCONSISTENT: Final = "org.apache.kafka.common.errors.InconsistentTopicIdException"


def judge_metadata_log(
    partition: DiskPartition, log_start: int | None = None, rules: BrokerRules = MODELED_RULES
) -> Iterator[Refusal]:
    """Yield why a node does not start with the snapshots and the `quorum-state` that are there.

    Args:
        partition: the metadata log.
        log_start: its log start offset; None takes the base offset of the first segment.
        rules: how nodes of the version that is assumed behave.
    """
    if log_start is None:
        log_start = partition.segments[0].base_offset if partition.segments else 0
    newest = newest_snapshot(partition, log_start)
    found = [
        _judge_topic_id(partition),
        judge_snapshots(partition, log_start),
        None if newest is None else judge_contents(newest.entry),
    ]
    state = partition.file(names.QUORUM_STATE)
    if state is not None:
        contents = if_readable(lambda: state.read(QuorumState))
        if contents is not None:
            found.append(judge_quorum_state(state.path, contents, rules))
    yield from (refusal for refusal in found if refusal is not None)


def _judge_topic_id(partition: DiskPartition) -> Refusal | None:
    """Return why a node does not start with the topic id of its metadata log.

    Kafka: UnifiedLog.initializeTopicId (4.2)
    """
    found = if_readable(partial(getattr, partition, "topic_id"))
    if found in {None, METADATA_TOPIC_ID}:
        return None
    path = f"{partition.path}/{names.PARTITION_METADATA}"
    finding = Finding(
        "topic-id", "error", path, None, None, f"topic id {found}",
        f"{METADATA_TOPIC_ID}, that of every metadata log", "The controller does not start.",
    )  # fmt: skip
    return Refusal(finding, _INCONSISTENT)
