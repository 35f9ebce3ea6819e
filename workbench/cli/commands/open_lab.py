"""`kafka-workbench lab`: JupyterLab on the tour, over the sample data or your own."""

import click

from workbench.cli.command import Command, opens_no_browser, opens_nothing
from workbench.cli.output import print_json


@click.command("lab", cls=Command, serves=True)
@click.argument("path", metavar="[PATH]", required=False, type=click.Path())
@click.argument("options", metavar="[-- OPTIONS]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--folder",
    metavar="FOLDER",
    help="Copy the notebooks to this folder; default: ~/kafka-workbench.",
)
@opens_no_browser
@opens_nothing
def command(
    *,
    path: str | None,
    options: tuple[str, ...],
    folder: str | None,
    no_browser: bool,
    as_json: bool,
) -> int:
    """Open JupyterLab on the tour and wait until it ends.

    The tour opens PATH, a log directory, or by default the sample data. PATH is in the file
    browser, too, and is shown first; nothing is written there. OPTIONS after -- are passed to
    JupyterLab. The notebooks are copies: saving one changes neither a checkout nor the installed
    files, and a copy that you changed is never overwritten.

    Exit codes: 0 done, or those of JupyterLab.
    """
    from workbench.cli.lab import find_tour, lab_command, run_lab, work_folder

    if path is not None and path.startswith("-"):  # the first of the options after --
        options = (path, *options)
        path = None
    if not as_json:
        return run_lab(path, folder=folder, browser=not no_browser, options=options)
    tour = find_tour()
    work = work_folder(folder)
    print_json(
        {
            "notebooks": str(work),
            "data": path or (str(tour.samples) if tour.samples else None),
            "is_checkout": tour.is_checkout,
            "command": lab_command(work, browser=not no_browser, options=options),
        }
    )
    return 0
