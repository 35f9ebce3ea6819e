"""Judge `quorum-state`, which a node reads once it has recovered its metadata log.

Kafka: FileQuorumStateStore.readStateFromFile, QuorumState.initialize (3.7 to 4.2)
"""

from typing import Final

from workbench.files.quorum_state import QuorumState
from workbench.files.reading import Problem
from workbench.inspection.findings import Finding
from workbench.inspection.node_start.refusal import ILLEGAL_STATE, RUNTIME, Refusal

_UNCHECKED: Final = "java.io.UncheckedIOException"
_NUMBER: Final = "java.lang.NumberFormatException"


def judge_quorum_state(path: str, state: QuorumState) -> Refusal | None:
    """Return why a node does not start with a `quorum-state`; None if it does.

    Args:
        path: the file.
        state: its contents, read with ``strict=False``.
    """
    for problem in state.problems:
        finding = Finding(
            "quorum-state-damaged", "error", path, problem.position, None, problem.found,
            problem.expected, "The controller does not start.",
        )  # fmt: skip
        return Refusal(finding, _exception(problem))
    return None


def _exception(problem: Problem) -> str:
    """Return the exception that Kafka's reader throws."""
    if problem.kind == "unknown version":
        return ILLEGAL_STATE
    if problem.kind == "malformed" or "data_version" in problem.found:
        return _UNCHECKED
    is_number = problem.kind == "bad value" and problem.expected.startswith("a number")
    return _NUMBER if is_number else RUNTIME
