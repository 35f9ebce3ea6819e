"""`kafka-workbench app`: one screen in a browser, without code."""

import click

from workbench.cli.command import (
    Command,
    chosen_tier,
    opens_no_browser,
    opens_nothing,
    reads_remote_tier,
)
from workbench.cli.output import print_json
from workbench.cli.show.hiding import takes_values


@click.command("app", cls=Command, serves=True)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@takes_values
@reads_remote_tier
@opens_no_browser
@click.option("--host", default="localhost", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port; by default any that is free."
)
@opens_nothing
def command(
    *,
    paths: tuple[str, ...],
    show_values: bool,
    no_browser: bool,
    host: str,
    port: int,
    as_json: bool,
) -> int:
    """Show log directories in a browser until interrupted with Ctrl-C.

    The screen shows the PATHs, the log directories of one broker, or by default the sample data:
    topics and segments down to bytes, records, sizes, cleaning, groups, transactions, findings.
    With the directories of several brokers, it compares their replicas, too. Nothing is written to
    them. Only this machine can open the address, and only with the token in it; with --host, so
    can other machines, by plain HTTP.

    Exit codes: 0 done.
    """
    from workbench.cli.app import run_app, shown_paths

    if as_json:
        opened = {"data": shown_paths(paths), "show_values": show_values}
        print_json({**opened, "host": host, "port": port})
        return 0
    tier = chosen_tier()
    return run_app(
        paths, tier=tier, show_values=show_values, browser=not no_browser, host=host, port=port
    )
