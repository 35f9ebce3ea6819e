"""What the engine says about what it does: one `Step` for each thing done or decided.

An observer is any function that takes a `Step`. The numbers in it are those that the engine decided
with, so what is shown of a step is the engine's own reason and not told after it. Without an
observer nothing is made.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Step(NamedTuple):
    """One thing that the engine did or decided.

    Attributes:
        kind: what, in Kafka's words: "index entry added", "rolled", "truncated" …; see `KINDS`.
        where: the file or partition that it concerns: a path, or ``topic-partition``.
        reason: why, in a sentence with its numbers; empty where the kind says all.
        numbers: what it was decided by, by name.
    """

    kind: str
    where: str
    reason: str
    numbers: dict[str, Any]


Observer = Callable[[Step], None]
