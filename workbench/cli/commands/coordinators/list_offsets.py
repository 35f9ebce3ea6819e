"""`kafka-workbench offsets`: the committed offsets that a restarted broker would return."""

from collections.abc import Iterable

import click

from workbench.cli.command import Command, as_json
from workbench.cli.output import print_json, print_table, time_of
from workbench.cli.show.coordinator_facts import load_groups, loads_groups, offset_facts, report
from workbench.coordinator.era import Era
from workbench.coordinator.groups.stored_groups import CommittedOffset


@click.command("offsets", cls=Command)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option("--group", "-g", metavar="NAME", help="Only offsets of this group.")
@click.option(
    "--all", "everything", is_flag=True,
    help="Also show offsets that a broker would not return: pending, expired, misplaced.",
)  # fmt: skip
@loads_groups
@as_json
def command(
    *,
    paths: tuple[str, ...],
    group: str | None,
    everything: bool,
    era: Era | None,
    now: int | None,
    retention_minutes: int | None,
    as_json: bool,
) -> int:
    """List the committed offsets that a broker would return after a restart.

    Each offset is compared with its log: fine, beyond the end, below the start, topic gone,
    recreated; unknown if that log is not in these directories.

    Exit codes: 0 done, 1 something could not be read, or is in a wrong partition.

    With --json: a list of objects with group, topic, partition, offset, leaderEpoch, metadata,
    commitTimestamp, expireTimestamp (in the commit itself), expiresAt, expiryRule, logStartOffset,
    logEndOffset, highWatermark, lag, state, reason, topicId, producerId (of an open transaction),
    coordinatorPartition, recordOffset, served and unserved (why it is not).
    """
    coordinator = load_groups(paths, era, now, retention_minutes)
    shown = (each for each in coordinator.offsets(group) if everything or each.unserved is None)
    if as_json:
        print_json([offset_facts(each) for each in shown])
    else:
        print_offsets(shown, everything=everything)
    return report(coordinator.findings())


def print_offsets(offsets: Iterable[CommittedOffset], *, everything: bool) -> None:
    """Print offsets as a table."""
    facts = [offset_facts(each) for each in offsets]
    names = ("group", "topic", "partition", "offset", "logEndOffset", "lag", "state")
    print_table(
        [
            "group", "topic", "partition", "offset", "log end", "lag", "state",
            "committed (UTC)", "expires (UTC)", *(["not served"] if everything else []),
        ],
        [
            [
                *(each[name] for name in names),
                time_of(each["commitTimestamp"]),
                time_of(each["expiresAt"]),
                *([each["unserved"]] if everything else []),
            ]
            for each in facts
        ],
        spare=("expires (UTC)", "committed (UTC)", "log end"),
    )  # fmt: skip
