"""`kafka-workbench cluster`: topics, configurations, ACLs, nodes of a KRaft cluster at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import click

from workbench.cli.command import (
    Command,
    as_json,
    chooses_rows,
    chooses_times,
    chosen_rows,
    open_logs,
    rows_between,
)
from workbench.cli.output import note, print_json, print_table, say, time_of
from workbench.files.names import TopicPartition
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
_OF_TOPICS: Final = ("topics", "topic_partitions", "configs", "acls")
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
@click.option(
    "--history", is_flag=True,
    help="Show what changed until then, and from which value. --since and --until imply it.",
)  # fmt: skip
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(list(_PARTS)),
    metavar="TABLE",
    help=f"Only this table; repeatable: {', '.join(_PARTS)}.",
)
@chooses_rows
@chooses_times("changes, with --history,")
@as_json
def command(
    *,
    paths: tuple[str, ...],
    at: str | None,
    history: bool,
    only: tuple[str, ...],
    topics: tuple[str, ...],
    partitions: tuple[str, ...],
    since: int | None,
    until: int | None,
    as_json: bool,
) -> int:
    """Show topics, configurations, ACLs and nodes of a KRaft cluster, at any time.

    The snapshots and the log of __cluster_metadata-0 are folded as a controller does. Passwords,
    and keys of SCRAM, are not shown. Partitions with their leaders and ISR are shown with
    --only topic_partitions, or of a topic that --topic names. Then only what is about that topic is
    shown: it, its partitions, its configurations, and the ACLs of its name.

    With --json: an object with offset, timestamp (ms), notes, findings, and a list per table, whose
    objects have the columns of logs.inspect; with --history, a list of objects with the fields
    below.

    Example: cluster DIR --history --only configs --at 2026-11-25T08:00

    Exit codes: 0 done, 1 something is damaged or missing, so that the state may be wrong; 3 also:
    there is no metadata log, or it begins later.
    """
    listing = open_logs(paths).listing
    choose = partial(chosen_rows, listing=listing, topics=topics, partitions=partitions)
    is_chosen = bool(topics or partitions)
    parts = [name for name in _PARTS if not is_chosen or name in _OF_TOPICS]
    chosen = only or tuple(name for name in parts if as_json or is_chosen or name not in _LONG)
    if since is not None or until is not None:
        history = True
    if history:
        changes = ClusterHistory(require_metadata_log(listing), at)
        kinds = {kind for name in only or parts for kind in _PARTS[name].kinds}
        every = choose(rows.changes_of(changes), of=_places)
        made = rows_between(every, since, until, lambda row: row.timestamp)
        return _show_history(changes, [row for row in made if row.kind in kinds], as_json=as_json)
    partition = require_metadata_log(listing)
    state = cluster_at(partition, at)
    if at is None:
        state = with_leader(state, partition)
    found = quorum_state(partition)
    voters = None if found is None else found.current_voters
    every_row = [(name, row) for name in parts for row in _PARTS[name].rows(state.cluster, voters)]
    found_rows = choose(every_row, of=lambda each: _places(each[1]))
    shown = {part: [row for name, row in found_rows if name == part] for part in chosen}
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
    for name, its_rows in shown.items():
        if its_rows:
            click.echo()
            _print(_PARTS[name], its_rows)
    empty = [_PARTS[name].title for name, its_rows in shown.items() if not its_rows]
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


def _places(row: Any) -> Iterator[TopicPartition]:
    """Yield the topic, with its number if there is one, that a row or a change is about."""
    if isinstance(row, tables.TopicRow | tables.TopicPartitionRow):
        yield TopicPartition(row.topic, getattr(row, "partition", -1))
    elif isinstance(row, tables.ConfigRow | tables.AclRow) and row.resource_type.lower() == "topic":
        yield TopicPartition(row.resource, -1)
    elif isinstance(row, tables.ClusterChangeRow):
        yield from _places_of_change(row)


def _places_of_change(row: tables.ClusterChangeRow) -> Iterator[TopicPartition]:
    if row.kind == "topic":
        yield TopicPartition(row.entity, -1)
    elif row.kind == "partition":
        topic, _, number = row.entity.rpartition("-")
        yield TopicPartition(topic, int(number))
    elif row.kind in {"config", "acl"} and row.entity.lower().startswith("topic "):
        yield TopicPartition(row.entity.split(" ", 2)[1], -1)


def _show_history(
    history: ClusterHistory, found: list[tables.ClusterChangeRow], *, as_json: bool
) -> int:
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
