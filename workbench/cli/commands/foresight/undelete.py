"""`kafka-workbench undelete`: bring deleted and stray logs of a topic back, in a copy."""

from uuid import UUID

import click

from workbench.cli.command import Command, as_json, chooses_numbers, complete_topics, open_logs
from workbench.cli.output import note, print_json, print_table, say
from workbench.files.text import parse_uuid
from workbench.foresight.copies.undeleting import undelete


def _topic_id(_ctx: click.Context, _param: click.Parameter, value: str | None) -> UUID | None:
    if value is None:
        return None
    found = parse_uuid(value)
    if found is None:
        raise click.BadParameter(f"{value!r} is not a topic id (expected 22 characters of base64)")
    return found


def _number(topic: str, text: str) -> int:
    """Return the number of a partition: ``0``, or ``orders-0`` of this topic."""
    number = text.removeprefix(f"{topic}-")
    if not number.isdecimal():
        raise click.UsageError(f"-p {text!r} is not a partition of {topic}: 0, or {topic}-0")
    return int(number)


@click.command("undelete", cls=Command)
@click.argument("paths", metavar="DIR...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--topic", "-t", required=True, metavar="NAME", help="Only this topic: the one to bring back.",
    shell_complete=complete_topics,
)  # fmt: skip
@chooses_numbers
@click.option(
    "--to", "-o", "target", required=True, metavar="OUT", type=click.Path(),
    help="The new log directory; missing or empty.",
)  # fmt: skip
@click.option(
    "--topic-id", metavar="ID", callback=_topic_id,
    help="The id of the topic in the cluster that is to serve it, as kafka-topics.sh --describe "
    "shows it. Default: the log's own.",
)  # fmt: skip
@as_json
def command(
    *,
    paths: tuple[str, ...],
    topic: str,
    partitions: tuple[str, ...],
    target: str,
    topic_id: UUID | None,
    as_json: bool,
) -> int:
    """Copy the deleted and stray logs of a topic to OUT, under the names that brokers serve.

    A deleted partition is a directory ledger-0.<id>-delete until the broker removes it, after a
    minute by default, also after its next start: copy the disk, or stop the broker, first. OUT can
    be read by every command, and by clients with serve. For a broker: create the topic again with
    as many partitions, stop the broker, put the directories of OUT in place of the new, empty ones,
    with the new topic's id as --topic-id, and start it.

    A name that the directory's name shortens is NAME in full if __cluster_metadata still names the
    topic id, otherwise NAME as the directory has it. The log start offset that DeleteRecords moved
    is in no file of a deleted log: its first segment is read from its beginning, so records that
    were deleted by request come back.

    Exit codes: 0 done. After an error there is no OUT.

    With --json: a list of objects with source, path, topic_id and left_out.
    """
    numbers = [_number(topic, each) for each in partitions]
    rows = undelete(open_logs(paths).listing, topic, target, topic_id, numbers or None)
    if as_json:
        shown = [{**row._asdict(), "left_out": [*map(str, row.left_out)]} for row in rows]
        print_json(shown)
        return 0
    print_table(
        ["brought back from", "to", "topic id"],
        [[row.source, row.path, row.topic_id] for row in rows],
    )
    for row in rows:
        for each in row.left_out:
            note(str(each))
    say(f"Read it: kafka-workbench serve {target}")
    return 0
