"""Judge the files beside a metadata log together, in the order in which a node reads them.

Kafka: KafkaMetadataLog.apply, KafkaRaftClient.initialize (4.2); of `quorum-state`
FileQuorumStateStore.readStateFromFile, QuorumState.initialize (3.7 to 4.2), FileBasedStateStore
(3.7)
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from workbench.config.broker_rules import MODELED_RULES, BrokerRules
from workbench.config.internal_topics import METADATA_TOPIC_ID
from workbench.files import names, text
from workbench.files.quorum_state import QuorumState
from workbench.files.reading import FileProblem
from workbench.inspection.findings import Finding
from workbench.inspection.node_start.bootstrap import judge_contents
from workbench.inspection.node_start.metadata_log import judge_snapshots, newest_snapshot
from workbench.inspection.node_start.refusal import ILLEGAL_STATE, NO_CONTROLLER, RUNTIME, Refusal
from workbench.inspection.partition import DiskPartition
from workbench.inspection.unreadable import if_readable

# A node reads `quorum-state` once it has recovered its metadata log.
_UNCHECKED: Final = "java.io.UncheckedIOException"
_UNSUPPORTED: Final = "org.apache.kafka.common.errors.UnsupportedVersionException"
_NUMBER: Final = "java.lang.NumberFormatException"


def judge_quorum_state(
    path: str, state: QuorumState, rules: BrokerRules = MODELED_RULES
) -> Refusal | None:
    """Return why a node does not start with a `quorum-state`; None if it does.

    Args:
        path: the file.
        state: its contents, read with ``strict=False``.
        rules: how nodes of the version that is assumed behave.
    """
    if not rules.checks_quorum_state_version and state.version not in {None, 0}:
        return None
    if rules.clears_quorum_state and state.version not in {None, 0}:
        found = f"data_version {state.version}"
        return _refusal(path, FileProblem("unknown version", None, found, "0"), _UNSUPPORTED)
    for problem in state.problems:
        exception = _exception(problem)
        if exception == _UNCHECKED and rules.clears_quorum_state:
            return None
        return _refusal(path, problem, exception)
    return None


def _refusal(path: str, problem: FileProblem, exception: str) -> Refusal:
    broker = NO_CONTROLLER
    if exception == _UNCHECKED:
        broker = "Since 3.8 the controller does not start; before, it removes the file."
    finding = Finding(
        "quorum-state-damaged", "error", path, problem.position, None, problem.found,
        problem.expected, broker,
    )  # fmt: skip
    return Refusal(finding, exception)


def _exception(problem: FileProblem) -> str:
    """Return the exception that Kafka's reader throws."""
    if problem.kind == "unknown version":
        return ILLEGAL_STATE
    if problem.kind == "malformed" or "data_version" in problem.found:
        return _UNCHECKED
    is_number = problem.kind == "bad value" and problem.expected.startswith("a number")
    return _NUMBER if is_number else RUNTIME


_TOPIC_ID: Final = text.format_uuid(METADATA_TOPIC_ID)

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
    reads_snapshot = rules.reads_snapshots_at_start or log_start > 0
    found = [
        _judge_topic_id(partition),
        judge_snapshots(partition, log_start),
        judge_contents(newest.entry) if newest and reads_snapshot else None,
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
    if found in {None, _TOPIC_ID}:
        return None
    path = f"{partition.path}/{names.PARTITION_METADATA}"
    finding = Finding(
        "topic-id", "error", path, None, None, f"topic id {found}",
        f"{_TOPIC_ID}, that of every metadata log", NO_CONTROLLER,
    )  # fmt: skip
    return Refusal(finding, _INCONSISTENT)
