"""A reason why a node does not start: a finding of `verify`, and the node's exception."""

from typing import NamedTuple

from workbench.inspection.findings import Finding

RUNTIME = "java.lang.RuntimeException"
ILLEGAL_STATE = "java.lang.IllegalStateException"
KAFKA = "org.apache.kafka.common.KafkaException"
MISMATCH = "meta-properties-mismatch"
NO_CONTROLLER = "The controller does not start."


class Refusal(NamedTuple):
    """Why a node does not start.

    Attributes:
        finding: what is wrong, as `verify` reports it.
        exception: the full name of the exception that the node throws.
    """

    finding: Finding
    exception: str

    @property
    def problem(self) -> str:
        """The finding as one sentence, with the file."""
        finding = self.finding
        wanted = f" (expected {finding.expected})" if finding.expected else ""
        return f"{finding.path}: {finding.found}{wanted}"
