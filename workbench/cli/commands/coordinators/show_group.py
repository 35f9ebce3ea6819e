"""`kafka-workbench group`: everything about one group."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from workbench.cli.command import (
    Command,
    as_json,
    chooses_times,
    complete_groups,
    rows_between,
)
from workbench.cli.commands.coordinators.list_offsets import print_offsets
from workbench.cli.output import label, note, print_json, print_table, time_of
from workbench.cli.show.coordinator_facts import (
    group_facts,
    load_groups,
    loads_groups,
    report,
)
from workbench.coordinator.groups.rebalance_history import RebalanceHistory
from workbench.coordinator.runtime.era import CoordinatorEra
from workbench.loaders.explanations.coordinator_explanation import explained
from workbench.loaders.tables.coordinator_rows import all_offset_rows, group_row
from workbench.runtime.words import did_you_mean
from workbench.tables.columns import json_of
from workbench.tables.foresight import RuleRow
from workbench.tables.groups import DeliveryRow, MirrorCheckpointRow, RebalanceRow, ShareRow

NOT_THERE = NOT_EVERYWHERE = 1
_NEWEST = 10  # rebalances in the text
_SHOWN = 10  # groups that a message names
_RULES_OF_NO_GROUP = 3  # where no record mentions it: nothing to show


@click.command(
    "group",
    cls=Command,
    fields={
        "--json, in rules": RuleRow,
        "--json, in share_offsets": ShareRow,
        "--json, in deliveries": DeliveryRow,
        "--json, in mirror_checkpoints": MirrorCheckpointRow,
        "--json, in rebalances": RebalanceRow,
    },
)
@click.argument("name")
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(),
    shell_complete=complete_groups,
)  # fmt: skip
@chooses_times("changes, under rebalances and deliveries,")
@loads_groups
@as_json
def command(
    *,
    name: str,
    paths: tuple[str, ...],
    since: int | None,
    until: int | None,
    era: CoordinatorEra | None,
    now: int | None,
    retention_minutes: int | None,
    as_json: bool,
) -> int:
    """Show one group: its state, its members, and every committed offset.

    Offsets that a broker would not return are listed with the reason. The newest ten changes of
    its generation, epochs and assignments follow, with who came and went; of a share group also the
    newest ten changes of what it has acknowledged, released, rejected and archived. The rules at
    the end say for each partition whether consumers resume there or start over, and why.
    Of a group that MirrorMaker 2 mirrors, its checkpoints say where the group goes on here.

    Exit codes: 0 consumers resume everywhere, as the group left off; 1 there is no such group
    (state Dead), a rule blocks or limits where they resume, or something could not be read.

    With --json: an object as `groups --json` gives; its offsets are a list of objects as
    `offsets --json` gives. Beside them conclusion, rules, share_offsets, deliveries,
    mirror_checkpoints and rebalances: lists of objects with the fields below.
    """
    coordinator = load_groups(paths, era, now, retention_minutes)
    loaded = coordinator.groups.get(name)
    offsets = all_offset_rows(coordinator, name)
    facts: dict[str, Any] = {"group": name, "kind": None, "state": "Dead", "members": []}
    if loaded is not None:
        facts = group_facts(group_row(loaded), coordinator)
    facts["offsets"] = [json_of(each) for each in offsets]
    facts["share_offsets"] = [json_of(each) for each in coordinator.share_partitions(name)]
    mirrored = [*coordinator.mirror_checkpoints(name)]
    facts["mirror_checkpoints"] = [json_of(each) for each in mirrored]
    deliveries = rows_between(
        coordinator.share_deliveries(name), since, until, lambda each: each.time
    )
    facts["deliveries"] = [json_of(each) for each in deliveries]
    story = explained(coordinator, name)
    facts |= {"conclusion": story.conclusion, "rules": story.as_dict()["rules"]}
    history = RebalanceHistory(coordinator.logs.topic_names, name)
    coordinator.observe(history, name, each_commit=False)
    rebalances = rows_between(history.finish(), since, until, lambda each: each.time)
    facts["rebalances"] = [json_of(each) for each in rebalances]
    code = report(coordinator.findings())
    if loaded is None:
        note(_absence(name, coordinator.groups))
    if as_json:
        print_json(facts)
    elif loaded is not None or mirrored or len(story) > _RULES_OF_NO_GROUP:
        tables = {
            "members",
            "offsets",
            "share_offsets",
            "deliveries",
            "mirror_checkpoints",
            "rules",
            "rebalances",
        }
        shown = {"group": name, "conclusion": story.conclusion, **facts}
        shown = {field: value for field, value in shown.items() if field not in tables}
        times = ("state_time", "last_commit_time")
        print_table(
            ["field", "value"],
            [
                [label(field), time_of(value) if field in times else value]
                for field, value in shown.items()
                if value is not None
            ],
        )
        _print_members(facts["members"])
        if offsets:
            click.echo()
            print_offsets(offsets, everything=True)
        _print_mirrored(facts["mirror_checkpoints"])
        _print_shares(facts["share_offsets"])
        _print_deliveries(facts["deliveries"])
        _print_rebalances(facts["rebalances"])
        click.echo()
        print_table(story.columns, story.cells())
    if loaded is None:
        return NOT_THERE
    return code or (NOT_EVERYWHERE if story.is_limited else 0)


def _absence(name: str, groups: Iterable[str]) -> str:
    """Return that there is no such group, and which there are."""
    there = sorted(groups)
    shown = ", ".join(there[:_SHOWN]) + (
        f" and {len(there) - _SHOWN:,} more" * (len(there) > _SHOWN)
    )
    return f"no such group: {name}{did_you_mean(name, there)}; groups: {shown or 'none'}"


def _print_rows(
    rows: list[dict[str, Any]],
    heading: Sequence[str],
    cells: Callable[[dict[str, Any]], list[Any]],
    *,
    newest: int | None = None,
    spare: Sequence[str] = (),
) -> None:
    """Print rows as a table after an empty line, perhaps the newest alone; nothing without any."""
    if not rows:
        return
    shown = rows if newest is None else rows[-newest:]
    click.echo()
    print_table(heading, list(map(cells, shown)), spare=spare)
    if len(shown) < len(rows):
        click.echo(f"{len(rows) - len(shown):,} earlier changes; --json has all")


def _partition_of(row: dict[str, Any]) -> str:
    return f"{row['topic']}-{row['partition']}"


def _print_mirrored(checkpoints: list[dict[str, Any]]) -> None:
    names = ("source", "upstream_offset", "offset", "log_end_offset", "lag")
    _print_rows(
        checkpoints,
        ["mirrored partition", *map(label, names), "time"],
        lambda row: [_partition_of(row), *(row[name] for name in names), time_of(row["time"])],
    )


def _print_shares(shares: list[dict[str, Any]]) -> None:
    names = (
        *("start_offset", "log_end_offset", "lag", "in_flight"),
        *("available", "acknowledged", "archived", "last_delivery"),
    )
    _print_rows(
        shares,
        ["share-partition", *map(label, names)],
        lambda row: [_partition_of(row), *(row[name] for name in names)],
    )


def _print_deliveries(deliveries: list[dict[str, Any]]) -> None:
    names = ("event", "first_offset", "last_offset", "delivery_count", "deliveries_left")
    _print_rows(
        deliveries,
        ["time", "share-partition", *map(label, names)],
        lambda row: [time_of(row["time"]), _partition_of(row), *(row[name] for name in names)],
        newest=_NEWEST,
    )


def _print_rebalances(rebalances: list[dict[str, Any]]) -> None:
    names = ("event", "state", "generation", "members", "reason")
    _print_rows(
        rebalances,
        ["time", "event", "state", "generation", "members", "why"],
        lambda row: [time_of(row["time"]), *(row[name] for name in names)],
        newest=_NEWEST,
        spare=("members", "state"),
    )


def _print_members(members: list[dict[str, Any]]) -> None:
    names = ("member_id", "group_instance_id", "client_id", "client_host", "epoch")
    _print_rows(
        members,
        ["member", "instance", "client", "host", "epoch", "assignment"],
        lambda row: [
            *(row[name] for name in names),
            None if row["assignment"] is None else ", ".join(row["assignment"]),
        ],
        spare=("instance", "host", "epoch"),
    )
