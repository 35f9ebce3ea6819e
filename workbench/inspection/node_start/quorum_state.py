"""Judge `quorum-state`, which a node reads once it has recovered its metadata log.

Kafka: FileQuorumStateStore.readStateFromFile, QuorumState.initialize (3.7 to 4.2);
FileBasedStateStore (3.7)
"""

from typing import Final

from workbench.config.broker_rules import MODELED_RULES, BrokerRules
from workbench.files.quorum_state import QuorumState
from workbench.files.reading import FileProblem
from workbench.inspection.findings import Finding
from workbench.inspection.node_start.refusal import ILLEGAL_STATE, RUNTIME, Refusal

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
    broker = "The controller does not start."
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
