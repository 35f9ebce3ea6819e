"""`kafka-workbench app`: one screen in a browser, without code."""

import click

from workbench.cli.command import Command, chosen_tier, reads_remote_tier
from workbench.cli.output import print_json


@click.command("app", cls=Command)
@click.argument("paths", metavar="[PATH]... [-- OPTIONS]", nargs=-1, type=click.Path())
@click.option("--show-values", is_flag=True, help="Show keys, values and headers.")
@reads_remote_tier
@click.option("--no-browser", is_flag=True, help="Print the address; do not open a browser.")
@click.option(
    "--json", "as_json", is_flag=True, help="Open nothing; print as JSON what would be opened."
)
def command(*, paths: tuple[str, ...], show_values: bool, no_browser: bool, as_json: bool) -> int:
    """Show log directories in a browser until interrupted with Ctrl-C.

    The screen shows the PATHs, the log directories of one broker, or by default the sample data:
    topics and segments down to bytes, records, sizes, cleaning, groups, transactions, findings.
    With the directories of several brokers, it compares their replicas, too. Nothing is written to
    them. Only this machine can open the address, and only with the token in it. OPTIONS after --
    are passed to Voila, such as --port=9000.

    Exit codes: 0 done.
    """
    from workbench.cli.app import run_app, shown_paths

    at = next((i for i, each in enumerate(paths) if each.startswith("-")), len(paths))
    shown, options = paths[:at], paths[at:]
    if as_json:
        print_json(
            {"data": shown_paths(shown), "show_values": show_values, "options": list(options)}
        )
        return 0
    tier = chosen_tier()
    return run_app(
        shown, tier=tier, show_values=show_values, browser=not no_browser, options=options
    )
