"""Groups, offsets and transactions as objects of JSON: names that other programs rely on.

A partition is named ``topic-0``, a time is in ms since the epoch, an unknown value is null.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from workbench.cli.command import open_logs, read_time
from workbench.cli.output import note
from workbench.config.changed_defaults import CHANGED_DEFAULTS
from workbench.coordinator.groups.members import members_of
from workbench.coordinator.groups.stored_groups import StoredGroups
from workbench.coordinator.runtime.era import CoordinatorEra, era_of
from workbench.coordinator.transactions.stored_transactions import StoredTransactions
from workbench.inspection.findings import Finding
from workbench.inspection.listing import Listing
from workbench.runtime.times import MINUTE
from workbench.runtime.words import plural
from workbench.tables.columns import json_of
from workbench.tables.groups import GroupRow

Function = TypeVar("Function", bound=Callable[..., Any])

UNREADABLE: Final = 1
"""Exit code if records could not be read."""


def _era(_ctx: click.Context, _param: click.Parameter, value: str | None) -> CoordinatorEra | None:
    try:
        return None if value is None else era_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


_RETENTION: Final = CHANGED_DEFAULTS["offsets.retention.minutes"]
_OPTIONS: Final = (
    click.option(
        "--kafka", "era", metavar="VERSION", callback=_era,
        help="Load groups by the rules of this version; default: the version that wrote them.",
    ),
    click.option(
        "--now", metavar="TIME", callback=read_time,
        help="Omit offsets that have expired by this time: ISO 8601, or ms since the epoch. "
        "Default: no offset has expired, as in a broker that has just started.",
    ),
    click.option(
        "--retention-minutes", type=click.IntRange(min=0), metavar="MINUTES",
        help="Set offsets.retention.minutes; default: that version's default, "
        f"{_RETENTION.since} since {_RETENTION.version}, {_RETENTION.before} before.",
    ),
)  # fmt: skip


def loads_groups(function: Function) -> Function:
    """Add the options that decide how groups are loaded."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def load_groups(
    paths: tuple[str, ...],
    era: CoordinatorEra | None,
    now: int | None,
    retention_minutes: int | None,
) -> StoredGroups:
    """Load the groups of what the arguments name.

    Raises:
        LogDirectoryError: a path does not exist.
        OSError: a file cannot be read.
    """
    minutes = retention_minutes
    coordinator = StoredGroups(
        open_logs(paths).listing,
        era=era,
        now=now,
        retention_ms=None if minutes is None else minutes * MINUTE,
    )
    if not coordinator.loads:
        note("the directories have no partition of __consumer_offsets")
    return coordinator


def load_transactions(listing: Listing) -> StoredTransactions:
    """Load the transactional ids of listed directories.

    Raises:
        OSError: a file cannot be read.
    """
    coordinator = StoredTransactions(listing)
    if not coordinator.loads:
        note("the directories have no partition of __transaction_state")
    return coordinator


def report(findings: list[Finding]) -> int:
    """Print what could not be read on stderr; return the exit code."""
    if findings:
        others = f"; {plural(len(findings), 'finding')} in all" if len(findings) > 1 else ""
        note(f"{findings[0]}{others}")
    return UNREADABLE if findings else 0


def group_facts(row: GroupRow, coordinator: StoredGroups) -> dict[str, Any]:
    """Return a group as an object, with its members."""
    members = members_of(coordinator.groups[row.group].group, coordinator.logs.topic_names)
    return {**json_of(row), "members": [json_of(member) for member in members]}
