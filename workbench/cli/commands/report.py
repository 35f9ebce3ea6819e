"""`kafka-workbench report`: one HTML file about log directories, for a ticket."""

import click

from workbench.cli.command import Command, as_json, open_logs, read_time
from workbench.cli.output import print_json, say
from workbench.cli.settings import takes_kafka
from workbench.file_system.outputs import new_file
from workbench.inspection.listing import opened_paths
from workbench.runtime.words import size_text


@click.command("report", cls=Command)
@click.argument("paths", metavar="DIR... [FILE]", nargs=-1, required=True, type=click.Path())
@click.option(
    "-o", "--output", "--to", metavar="FILE", type=click.Path(),
    help="The HTML file to write; also as the last argument, if it ends in .html.",
)  # fmt: skip
@click.option("--deep", is_flag=True, help="Check every CRC and decode every record, too.")
@click.option("--overwrite", is_flag=True, help="Replace a file of that name.")
@takes_kafka
@click.option(
    "--now", metavar="TIME", callback=read_time,
    help="The time of the report: ISO 8601, or ms since the epoch; default: this machine's.",
)  # fmt: skip
@as_json
def command(
    *,
    paths: tuple[str, ...],
    output: str | None,
    deep: bool,
    overwrite: bool,
    kafka: str | None,
    now: int | None,
    as_json: bool,
) -> int:
    """Write one HTML file for a ticket: what this is, what is wrong, and what to do.

    Broker, version, ids and shutdown; whether the topics will be served; findings; what fills the
    disk; what is stuck; groups by lag; open transactions; the cluster. Each part has the command
    that gives its numbers. Keys and values of records are not in it. It opens without a network,
    in the light or dark colors of the reader.

    Exit codes: 0 written.

    With --json: an object with output and bytes.
    """
    if output is None:
        *given, output = paths
        if not given or not output.lower().endswith((".html", ".htm")):
            raise click.UsageError(
                "FILE is missing: give the file to write, as in report DIR x.html"
            )
        paths = tuple(given)
    logs = open_logs(paths)
    text = logs.report(now=now, kafka=kafka, deep=deep).encode()
    with new_file(output, opened_paths(logs.listing), overwrite=overwrite) as file:
        file.write(text)
    if as_json:
        print_json({"output": output, "bytes": len(text)})
    else:
        say(f"{output}: {size_text(len(text))}")
    return 0
