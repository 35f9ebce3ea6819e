"""What ClusterView shows: the moments of a metadata log, and its tables as text."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from workbench.inspection.cluster import rows
from workbench.inspection.cluster.history import ClusterHistory
from workbench.inspection.cluster.image import StoredCluster
from workbench.inspection.findings import Finding
from workbench.inspection.partition import DiskPartition
from workbench.tables.cluster import ClusterChangeRow

MOST_MOMENTS: Final = 1000
"""Positions of the slider; a longer history has several records at one."""
_MOST_ROWS: Final = 1000  # of a table
_MOST_CHANGES: Final = 200  # of a moment

COLUMNS: Final[dict[str, list[list[Any]]]] = {
    "Topics": [
        ["Topic", 2, 0], ["Partitions", 0.7, 1], ["Replicas", 0.7, 1], ["Under-replicated", 1, 1],
        ["Without leader", 1, 1], ["Topic id", 1.6, 0],
    ],
    "Leaders": [
        ["Partition", 2, 0], ["Leader", 0.6, 1], ["Leader epoch", 0.8, 1], ["Replicas", 1, 0],
        ["ISR", 1, 0], ["ELR", 0.8, 0],
    ],
    "Configurations": [
        ["Of", 0.8, 0], ["Resource", 1.4, 0], ["Name", 1.8, 0], ["Value", 1.6, 0],
    ],
    "Brokers": [
        ["Broker", 0.5, 1], ["State", 0.9, 0], ["Rack", 0.7, 0], ["Endpoints", 2, 0],
        ["Leaders", 0.6, 1], ["Replicas", 0.6, 1],
    ],
    "Access": [["What", 0.8, 0], ["Who", 1.5, 0], ["Which", 1.5, 0], ["Value", 2, 0]],
    "Changes": [
        ["Kind", 0.7, 0], ["What", 1.5, 0], ["Field", 1.2, 0], ["Before", 1.5, 0],
        ["After", 1.5, 0],
    ],
}  # fmt: skip
"""Tables of the front end: heading, share of the width, and 1 for numbers."""


class ClusterMoment(NamedTuple):
    """A position of the slider.

    Attributes:
        offset: of the last record that is in it, of those that were written in one millisecond.
        timestamp: when that was written, ms; None if it is not known.
        changes: what it changed.
    """

    offset: int
    timestamp: int | None
    changes: list[ClusterChangeRow]


def moments_of(partition: DiskPartition) -> tuple[list[ClusterMoment], list[Finding]]:
    """Return the moments of a metadata log, at most `MOST_MOMENTS`, and what cannot be read.

    Raises:
        OSError: a file cannot be read.
    """
    history = ClusterHistory(partition)
    found: list[ClusterMoment] = []
    for row in rows.changes_of(history):
        last = found[-1] if found else None
        if last is not None and row.timestamp in {last.timestamp} - {None}:
            last.changes.append(row)  # of one batch, or of one operation of the controller
            found[-1] = last._replace(offset=row.offset)
        else:
            found.append(ClusterMoment(row.offset, row.timestamp, [row]))
    together = -(-len(found) // MOST_MOMENTS)
    if together > 1:
        parts = [found[at : at + together] for at in range(0, len(found), together)]
        found = [
            part[-1]._replace(changes=[row for each in part for row in each.changes])
            for part in parts
        ]
    return found, history.findings


def changed_rows(moment: ClusterMoment) -> list[list[str]]:
    """Return the changes of a moment as text."""
    return [
        [each.kind, each.entity, each.field or "", each.before or "", each.after or ""]
        for each in moment.changes[:_MOST_CHANGES]
    ]


def table_rows(cluster: StoredCluster) -> tuple[dict[str, list[list[str]]], dict[str, int]]:
    """Return the tables of a state as text, and how many rows of each are left out."""
    every: dict[str, list[Iterable[Any]]] = {
        "Topics": [
            (t.topic, t.partitions, t.replication_factor, t.under_replicated, t.leaderless,
             t.topic_id)
            for t in rows.topic_rows(cluster)
        ],
        "Leaders": [
            (f"{p.topic}-{p.partition}", p.leader, p.leader_epoch, p.replicas, p.isr, p.elr)
            for p in rows.partition_rows(cluster)
        ],
        "Configurations": [tuple(c)[:4] for c in rows.config_rows(cluster)],
        "Brokers": [
            (b.broker, b.state, b.rack, b.endpoints, b.leaders, b.replicas)
            for b in rows.broker_rows(cluster)
        ],
        "Access": list(_access_rows(cluster)),
    }  # fmt: skip
    left = {name: len(found) - _MOST_ROWS for name, found in every.items()}
    tables = {
        name: [[_text(cell) for cell in row] for row in found[:_MOST_ROWS]]
        for name, found in every.items()
    }
    return tables, {name: count for name, count in left.items() if count > 0}


def _access_rows(cluster: StoredCluster) -> Iterator[tuple[str, str, str, Any]]:
    """Yield ACLs, quotas, users of SCRAM and delegation tokens."""
    for a in rows.acl_rows(cluster):
        resource = f"{a.resource_type} {a.resource} ({a.pattern_type})"
        yield "ACL", a.principal, resource, f"{a.permission} {a.operation} from {a.host}"
    for q in rows.quota_rows(cluster):
        named = (("user", q.user), ("client", q.client_id), ("ip", q.ip))
        yield "quota", ", ".join(f"{kind} {name}" for kind, name in named if name), q.name, q.value
    for s in rows.scram_rows(cluster):
        yield "SCRAM", s.user, s.mechanism, f"{s.iterations:,} iterations"
    for d in rows.token_rows(cluster):
        yield "token", d.owner, d.token_id, f"asked for by {d.requester}"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, int):
        return f"{value:,}"
    return "–" if value is None else str(value)
