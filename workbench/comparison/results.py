"""The result of comparing the replicas of one partition.

A result is made once and does not change; `verdicts` derives findings from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from workbench.comparison.committed import Committed
from workbench.comparison.pairs import PairComparison
from workbench.comparison.replica import Replica
from workbench.comparison.truncation import Truncation
from workbench.inspection.cluster.image import PartitionRegistration
from workbench.inspection.findings import Finding
from workbench.runtime.words import safe_lines

Verdict = Literal["alike", "lag", "damage", "divergence", "loss"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
"""From harmless to worst."""

_LAGS: Final = frozenset({"replica-lag", "replica-missing"})
_LOSSES: Final = frozenset({"committed-lost", "leader-behind", "checkpoint-beyond-end"})
_DIVERGENCES: Final = frozenset(
    {"replica-divergence", "replica-gap", "silent-divergence", "topic-id"}
)


@dataclass(frozen=True, slots=True)
class Leadership:
    """What would happen if a broker became the leader now.

    Attributes:
        leader: its name.
        truncations: name of each other broker → how it truncates its log as a follower.
        lost: the first committed offset that the leader lacks, and the end (exclusive) of these
            offsets; None if it has all.
        uncommitted: how many other offsets the leader lacks that the replica ahead has.
    """

    leader: str
    truncations: Mapping[str, Truncation]
    lost: tuple[int, int] | None
    uncommitted: int


@dataclass(frozen=True, slots=True)
class PartitionComparison:
    """The replicas of one partition, compared.

    Attributes:
        topic, partition: the topic's name and the partition's number.
        replicas: in the order in which the brokers were given.
        ahead: name of the broker that is ahead: epoch of the last batch first, then log end offset.
        pairs: each two replicas.
        committed: the committed prefix, and what is lost of it.
        leaderships: name of each broker → what would happen if it became the leader.
        registration: leader and in-sync replicas by the cluster's metadata; None if not known.
        is_compacted: whether compaction may have dropped records.
        findings: what a healthy partition does not have, worst first.
    """

    topic: str
    partition: int
    replicas: tuple[Replica, ...]
    ahead: str
    pairs: tuple[PairComparison, ...]
    committed: Committed
    leaderships: Mapping[str, Leadership]
    registration: PartitionRegistration | None
    is_compacted: bool
    findings: tuple[Finding, ...] = ()

    @property
    def name(self) -> str:
        """Topic and number, the name of its directory."""
        return f"{self.topic}-{self.partition}"

    @property
    def verdict(self) -> Verdict:
        """Return the worst that is true: loss of committed data, divergence, damage, lag, alike."""
        wrong = {finding.kind for finding in self.findings if finding.severity == "error"}
        if wrong:
            is_loss, is_divergence = bool(wrong & _LOSSES), bool(wrong & _DIVERGENCES)
            return "loss" if is_loss else "divergence" if is_divergence else "damage"
        has_lag = any(finding.kind in _LAGS for finding in self.findings)
        return "lag" if has_lag else "alike"

    @property
    def divergence_offset(self) -> int | None:
        """The first offset at which two replicas hold different records; None if none do."""
        found = [p.divergence_offset for p in self.pairs if p.divergence_offset is not None]
        return min(found, default=None)

    @property
    def committed_at_least(self) -> int:
        """Everything before this offset was committed."""
        return self.committed.at_least

    @property
    def committed_at_most(self) -> int:
        """Nothing from this offset on can have been committed."""
        return self.committed.at_most

    def replica(self, broker: str) -> Replica:
        """Return the replica of a broker.

        Raises:
            KeyError: the broker has none.
        """
        for each in self.replicas:
            if each.broker == broker:
                return each
        raise KeyError(broker)

    def common_end(self, broker: str) -> int:
        """Return the end (exclusive) of what a broker's log and the one ahead hold alike.

        Raises:
            KeyError: the broker has no replica.
        """
        if broker == self.ahead:
            return self.replica(broker).log_end_offset
        for pair in self.pairs:
            if {pair.left, pair.right} == {broker, self.ahead}:
                return pair.common_end
        raise KeyError(broker)

    def truncation(self, follower: str, leader: str) -> Truncation:
        """Return how one broker truncates its log on becoming a follower of another.

        Raises:
            KeyError: a broker has no replica, or both are the same.
        """
        return self.leaderships[leader].truncations[follower]

    def would_truncate_to(self, follower: str) -> dict[str, int]:
        """Return leader → the follower's log end offset after it has truncated."""
        return {
            leader: found.truncations[follower].offset
            for leader, found in self.leaderships.items()
            if leader != follower
        }

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON; scripts may rely on the names."""
        registration = self.registration
        return {
            "topic": self.topic,
            "partition": self.partition,
            "verdict": self.verdict,
            "ahead": self.ahead,
            "divergence_offset": self.divergence_offset,
            "committed_at_least": self.committed_at_least,
            "committed_at_most": self.committed_at_most,
            "leader": None if registration is None else registration.leader,
            "isr": None if registration is None else list(registration.isr),
            "replicas": [self._replica_dict(each) for each in self.replicas],
            "pairs": [
                {
                    "brokers": [pair.left, pair.right],
                    "start": pair.start,
                    "end": pair.end,
                    "divergence_offset": pair.divergence_offset,
                    "epoch_divergence_offset": pair.epoch_divergence,
                    "only_first": pair.only_left,
                    "only_second": pair.only_right,
                }
                for pair in self.pairs
            ],
            "verdicts": [finding.as_dict() for finding in self.findings],
        }

    def _replica_dict(self, replica: Replica) -> dict[str, Any]:
        leadership = self.leaderships[replica.broker]
        return {
            "broker": replica.broker,
            "path": replica.path,
            "topic_id": replica.topic_id,
            "stop": replica.stop,
            "log_start_offset": replica.log_start_offset,
            "log_end_offset": replica.log_end_offset,
            "last_epoch": replica.last_epoch,
            "epochs": [{"epoch": e.epoch, "start_offset": e.start_offset} for e in replica.epochs],
            "high_watermark": replica.high_watermark,
            "recovered_end_offset": replica.recovered_end_offset,
            "restart_high_watermark": replica.restart_high_watermark,
            "would_truncate_to": self.would_truncate_to(replica.broker),
            "lost_as_leader": None if leadership.lost is None else list(leadership.lost),
            "damage": replica.damage_count,
        }

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.verdict}; {self.summary}"]
        lines += [f"  {finding.severity}: {finding.found}" for finding in self.findings]
        return safe_lines(lines)

    @property
    def summary(self) -> str:
        """One sentence."""
        best = self.replica(self.ahead)
        equal = [each.broker for each in self.replicas if each.rank == best.rank]
        names = ", ".join(equal)
        verb = "are" if len(equal) > 1 else "is"
        who = f"broker{'s' if len(equal) > 1 else ''} {names} {verb} ahead"
        epoch = "without epochs" if best.last_epoch is None else f"epoch {best.last_epoch}"
        text = f"{who} ({epoch}, log end offset {best.log_end_offset:,})"
        if self.divergence_offset is not None:
            text += f"; replicas differ from offset {self.divergence_offset:,}"
        low, high = self.committed_at_least, self.committed_at_most
        until = f"{low:,}" if low == high else f"at least {low:,}, at most {high:,}"
        return f"{text}; committed up to {until}"
