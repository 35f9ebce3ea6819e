"""`kafka-workbench cluster`: topics, configurations, ACLs, nodes of a KRaft cluster at a time."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import click

from workbench.cli.command import Command, as_json, open_logs
from workbench.cli.output import note, print_json, print_table, say, time_of
from workbench.inspection.cluster import rows
from workbench.inspection.cluster.history import ClusterHistory
from workbench.inspection.cluster.image import StoredCluster
from workbench.inspection.cluster.loading import cluster_at, offset_or_time
from workbench.inspection.cluster.provenance import (
    notes_on,
    quorum_state,
    require_metadata_log,
    with_leader,
)
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing
from workbench.tables import cluster as tables
from workbench.tables.columns import json_of

_INCOMPLETE: Final = 1  # exit code

Voters = tuple[int, ...] | None


class _Part(NamedTuple):
    """A table of the command.

    Attributes:
        rows: makes the rows of a state, with the voters that `quorum-state` names.
        kinds: the kinds of changes that are about it.
        columns: what is shown to people.
        title: its title.
    """

    rows: Callable[[StoredCluster, Voters], Iterable[Any]]
    kinds: tuple[str, ...]
    columns: tuple[str, ...]
    title: str


_PARTS: Final = {
    "quorum": _Part(
        rows.quorum_rows, ("controller", "voters", "leader"),
        ("node", "is_voter", "is_leader", "leader_epoch", "endpoints"), "Quorum",
    ),
    "brokers": _Part(
        lambda cluster, _: rows.broker_rows(cluster), ("broker",),
        ("broker", "state", "rack", "endpoints", "leaders", "replicas"), "Brokers",
    ),
    "features": _Part(
        lambda cluster, _: rows.feature_rows(cluster), ("feature",),
        ("feature", "level", "kafka", "min_supported", "max_supported"), "Features",
    ),
    "topics": _Part(
        lambda cluster, _: rows.topic_rows(cluster), ("topic",),
        ("topic", "partitions", "replication_factor", "under_replicated", "leaderless", "configs",
         "topic_id"), "Topics",
    ),
    "topic_partitions": _Part(
        lambda cluster, _: rows.partition_rows(cluster), ("partition",),
        ("topic", "partition", "leader", "leader_epoch", "replicas", "isr", "elr"), "Partitions",
    ),
    "configs": _Part(
        lambda cluster, _: rows.config_rows(cluster), ("config",),
        ("resource_type", "resource", "name", "value"), "Dynamic configurations",
    ),
    "acls": _Part(
        lambda cluster, _: rows.acl_rows(cluster), ("acl",), tables.AclRow._fields[:-1], "ACLs"
    ),
    "quotas": _Part(
        lambda cluster, _: rows.quota_rows(cluster), ("quota",), tables.QuotaRow._fields,
        "Client quotas",
    ),
    "scram_users": _Part(
        lambda cluster, _: rows.scram_rows(cluster), ("scram",), tables.ScramUserRow._fields,
        "SCRAM users",
    ),
    "delegation_tokens": _Part(
        lambda cluster, _: rows.token_rows(cluster), ("token",),
        ("token_id", "owner", "requester", "issued", "expires"), "Delegation tokens",
    ),
}  # fmt: skip
_LONG: Final = ("topic_partitions",)  # shown only if asked for
_TIMES: Final = frozenset({"issued", "expires", "max_time"})


def _moment(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    try:
        if value is not None:
            offset_or_time(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


@click.command("cluster", cls=Command, fields={"--json --history": tables.ClusterChangeRow})
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--at", metavar="OFFSET|TIME", callback=_moment,
    help="The state after the record at an offset of __cluster_metadata, or at a time: ISO 8601, "
    "ms, -1h, yesterday. Default: as late as the log goes.",
)  # fmt: skip
@click.option("--history", is_flag=True, help="Show what changed until then, and from which value.")
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(list(_PARTS)),
    metavar="TABLE",
    help=f"Only this table; repeatable: {', '.join(_PARTS)}.",
)
@as_json
def command(
    *, paths: tuple[str, ...], at: str | None, history: bool, only: tuple[str, ...], as_json: bool
) -> int:
    """Show topics, configurations, ACLs and nodes of a KRaft cluster, at any time.

    The snapshots and the log of __cluster_metadata-0 are folded as a controller does. Passwords,
    and keys of SCRAM, are not shown. Partitions with their leaders and ISR are shown with
    --only topic_partitions.

    With --json: an object with offset, timestamp (ms), notes, findings, and a list per table, whose
    objects have the columns of logs.inspect; with --history, a list of objects with the fields
    below.

    Example: cluster DIR --history --only configs --at 2026-11-25T08:00

    Exit codes: 0 done, 1 something is damaged or missing, so that the state may be wrong; 3 also:
    there is no metadata log, or it begins later.
    """
    listing = open_logs(paths).listing
    chosen = only or tuple(name for name in _PARTS if as_json or name not in _LONG)
    if history:
        return _show_history(listing, at, only, as_json=as_json)
    partition = require_metadata_log(listing)
    state = cluster_at(partition, at)
    if at is None:
        state = with_leader(state, partition)
    found = quorum_state(partition)
    voters = None if found is None else found.current_voters
    shown = {name: list(_PARTS[name].rows(state.cluster, voters)) for name in chosen}
    notes = notes_on(state, partition, _node_id(listing))
    if as_json:
        print_json(
            {
                "offset": state.end - 1,
                "timestamp": state.timestamp,
                "notes": notes,
                "findings": [finding.as_dict() for finding in state.findings],
                **{name: [json_of(row) for row in found] for name, found in shown.items()},
            }
        )
        return _report(state.findings)
    for text in notes:
        say(text)
    for name, found_rows in shown.items():
        if found_rows:
            click.echo()
            _print(_PARTS[name], found_rows)
    empty = [_PARTS[name].title for name, found_rows in shown.items() if not found_rows]
    if empty:
        click.echo(f"\nNone in this state: {', '.join(empty)}.")
    return _report(state.findings)


def _node_id(listing: Listing) -> int | None:
    for root in listing.roots:
        properties = root.meta_properties
        if properties is not None:
            return properties.node_id
    return None


def _print(part: _Part, found: Sequence[Any]) -> None:
    cells = [[_cell(name, getattr(row, name)) for name in part.columns] for row in found]
    headings = [name.replace("_", " ") for name in part.columns]
    print_table(headings, cells, title=part.title)


def _cell(name: str, value: Any) -> Any:
    if name in _TIMES:
        return time_of(value)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value) if name == "partition" or isinstance(value, float) else value


def _show_history(listing: Listing, at: str | None, only: tuple[str, ...], *, as_json: bool) -> int:
    history = ClusterHistory(require_metadata_log(listing), at)
    kinds = {kind for name in only or _PARTS for kind in _PARTS[name].kinds}
    found = [row for row in rows.changes_of(history) if row.kind in kinds]
    if as_json:
        print_json([json_of(row) for row in found])
        return _report(history.findings)
    cells = [
        [
            str(each.offset), time_of(each.timestamp), each.kind, each.entity, each.field,
            each.before, each.after, "" if each.is_exact else "before, in missing records",
        ]
        for each in found
    ]  # fmt: skip
    headings = ["offset", "time", "kind", "entity", "field", "before", "after"]
    inexact = any(not each.is_exact for each in found)
    print_table(
        [*headings, *(["when"] if inexact else [])],
        [row[: len(headings) + inexact] for row in cells],
    )
    if history.first_offset:
        say(f"What changed before offset {history.first_offset:,} is not known.")
    return _report(history.findings)


def _report(findings: Sequence[Finding]) -> int:
    for finding in findings[:3]:
        note(str(finding))
    if len(findings) > 3:
        note(f"{len(findings) - 3:,} more findings; --json has them")
    return _INCOMPLETE if findings else 0
