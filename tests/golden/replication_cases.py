"""Recorded replication: what clusters of real brokers did, step by step, and left on disk.

`tests.replication_clusters.record` makes the cases; the steps are explained in
`tests.replication_clusters.schedules`. Each holds ``truth.json`` and the log directories of all
brokers at several moments, `LABEL/brokerN`. The label ``end`` is after the clean shutdown of all
brokers, in ascending order of their ids; there is also ``end/controller`` with
`__cluster_metadata` of a KRaft cluster.
"""

import json
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from tests.golden.archive import extract
from tests.kafka_broker import parse_version

ARCHIVES = Path(__file__).parent / "archives" / "replication"
NAMES = tuple(path.name.removesuffix(".tar.xz") for path in sorted(ARCHIVES.glob("*.tar.xz")))
END = "end"
TRUNCATED = re.compile(r"Truncating (?:log \S+ )?to offset (\d+)")
DECIDED = re.compile(
    r"Truncating partition \S+ with TruncationState\(offset=(\d+), completed=(true|false)\)"
    r" due to (.*)"
)


class Acknowledged(NamedTuple):
    """A record that a producer was told is written.

    Attributes:
        offset: None with acks=0, for which there is no answer.
    """

    value: str
    acks: int
    offset: int | None


class ReplicaOffsets(NamedTuple):
    """Where a replica was, as its broker told a client."""

    log_start_offset: int
    log_end_offset: int
    high_watermark: int


class Truncation(NamedTuple):
    """A log that a broker truncated, as its own log says.

    Attributes:
        step: index in `ReplicationCase.steps`.
        offset: the log end offset afterwards.
    """

    step: int
    broker: int
    offset: int


class ReplicationCase:
    """One extracted case. Do not change its files.

    Attributes:
        path: the folder that holds everything.
        name: "4.2.0-leader-killed".
        truth: truth.json.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.truth: dict[str, Any] = json.loads((path / "truth.json").read_text(encoding="utf-8"))

    def __repr__(self) -> str:
        return f"ReplicationCase({self.name!r})"

    @property
    def steps(self) -> list[dict[str, Any]]:
        """What was done, in order: ``step``, ``at_ms``, ``result``, ``state``, ``log``."""
        found: list[dict[str, Any]] = self.truth["steps"]
        return found

    @property
    def consumed(self) -> list[tuple[int, str]]:
        """Offset and value of what a consumer got before the shutdown at the end."""
        return [(one["offset"], one["value"]) for one in self.truth["consumed"]]

    @property
    def brokers(self) -> list[int]:
        """The brokers that hold replicas, ascending."""
        return sorted(self.truth["topic"]["replicas"])

    @property
    def tells_elr(self) -> bool:
        """Whether its brokers tell clients of eligible leader replicas (KRaft, 3.8 and later)."""
        version = parse_version(self.truth["versions"]["broker"])
        return bool(self.truth["metadata"] == "KRaft" and version >= (3, 8))

    @cached_property
    def labels(self) -> dict[str, int]:
        """Labels of the kept directories, in order, with the index of the step; `END` is last."""
        kept = {
            step["step"]["as"]: number
            for number, step in enumerate(self.steps)
            if step["step"]["do"] == "keep"
        }
        return kept | {END: len(self.steps) - 1}

    def directory(self, label: str, broker: int) -> Path:
        """Return a broker's log directory; give it to ``open_log_directory``."""
        return self.path / label / f"broker{broker}"

    def offsets(self, label: str, broker: int) -> ReplicaOffsets | None:
        """Return where a replica was at a label, `END`: before the shutdown.

        None if the broker did not answer then: it was down, or paused.
        """
        told = self.steps[self.labels[label]]["state"]["replicas"][str(broker)]
        return told and ReplicaOffsets(**told)

    def is_running(self, label: str, broker: int) -> bool:
        """Return whether the broker ran, and was not paused, while its directory was copied."""
        if label == END:
            return False
        told: str = self.steps[self.labels[label]]["result"][str(broker)]
        return told == "running"

    @cached_property
    def acknowledged(self) -> list[Acknowledged]:
        """The records whose producers got no error, in the order of the answers."""
        sent = {
            one["step"]["value"]: one["step"]
            for one in self.steps
            if one["step"]["do"] == "produce"
        }
        return [
            Acknowledged(
                one["step"]["value"], sent[one["step"]["value"]]["acks"], one["result"]["offset"]
            )
            for one in self.steps
            if one["step"]["do"] in {"produce", "answer"}
            and one["result"] is not None
            and one["result"]["error"] is None
        ]

    @cached_property
    def truncations(self) -> list[Truncation]:
        """The logs that lost records at their end, in order; recovery is not among them."""
        return [
            Truncation(number, broker, int(found[1]))
            for number, broker, line in self.lines()
            if (found := TRUNCATED.search(line))
        ]

    @cached_property
    def decisions(self) -> list[tuple[int, int, bool, str]]:
        """What followers decided (2.0 and later): broker, offset, whether that is all, and why."""
        return [
            (broker, int(found[1]), found[2] == "true", found[3])
            for _, broker, line in self.lines()
            if (found := DECIDED.search(line))
        ]

    def lines(self) -> Iterator[tuple[int, int, str]]:
        """Yield step, broker and line of what brokers wrote about the partition."""
        for number, step in enumerate(self.steps):
            for broker, lines in step["log"].items():
                for line in lines:
                    yield number, int(broker), line


def open_replication_case(name: str, into: Path) -> ReplicationCase:
    """Extract a case below ``into``, with the file times the brokers left, and return it.

    Raises:
        FileNotFoundError: no archive has this name.
    """
    extract(ARCHIVES / f"{name}.tar.xz", into / name)
    return ReplicationCase(into / name)
