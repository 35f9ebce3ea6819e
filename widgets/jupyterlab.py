"""What the extension of JupyterLab shows: the screen of a file or a folder that the user opened.

The extension runs one line in its kernel, `listen`; after that, a comm for each opened document
carries the path as data. The comm ends with the document, and the screen with it.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

import comm

import workbench
from widgets._widget import error_text
from widgets.explorer.explorer import LogExplorer
from widgets.explorer.file_view import find_file, find_unread
from widgets.frame.tab_names import EXPLORE, OVERVIEW
from widgets.queries import HEAD, opening
from widgets.records.record_browser import RecordBrowser
from widgets.view.file_descriptions import UNKNOWN, file_description
from widgets.workbench import Workbench
from workbench.errors import NOT_THERE, LogDirectoryError
from workbench.inspection.entries import FileEntry
from workbench.inspection.listing import Listing, require_logs
from workbench.inspection.segment import Segment

TARGET: Final = "kafka-log-workbench"
"""The name under which the extension opens its comms; labextension/static/kernel.js has it, too."""

HINT: Final = (
    "Open a log directory (an entry of log.dirs), the folder of a partition such as orders-0, or "
    "one of its files, such as 00000000000000000000.log."
)


def listen() -> None:
    """Show what the extension asks for from now on."""
    comm.get_comm_manager().register_target(TARGET, _opened)


def _opened(channel: Any, message: Mapping[str, Any]) -> None:
    """Show the path that the extension sends, and answer what it asks about the screen later."""
    top = os.getcwd()
    try:
        screen = open_screen(os.path.join(top, message["content"]["data"]["path"]), top)
    except Exception as error:  # noqa: BLE001 - whatever it is, the user has to see it
        channel.send({"problem": error_text(error), "hint": HINT})
        return

    def answer(_message: Mapping[str, Any]) -> None:
        try:
            channel.send({"notebook": view_notebook(screen, top)})
        except Exception as error:  # noqa: BLE001 - as above
            channel.send({"problem": error_text(error)})

    channel.on_msg(answer)
    channel.on_close(lambda _message: screen.close())
    channel.send({"model_id": screen.model_id})


def open_screen(path: str, top: str) -> Workbench:
    """Show a file or a folder on the screen of the log directory that holds it.

    A file or a partition is selected in Explore; a log directory begins with the Overview.

    Args:
        path: an absolute path.
        top: the folder above which nothing is opened: JupyterLab's root.

    Raises:
        LogDirectoryError: nothing is there, it is not Kafka's, or it is a link.
        OSError: a folder cannot be listed.
    """
    path = os.path.normpath(path)
    problem = LogDirectoryError(path, "it is not Kafka's")
    for folder in _around(path, top):
        try:
            logs = workbench.open_log_directory(folder)
        except LogDirectoryError as error:  # a folder above log directories is none itself
            problem = error
            continue
        place = _place_of(logs.listing, path)
        if place is None:
            continue
        screen = Workbench(logs, tab=EXPLORE if place else OVERVIEW, static=False)
        for name, value in place.items():
            setattr(screen.explorer, name, value)
        return screen
    raise problem


def _around(path: str, top: str) -> Iterator[str]:
    """Yield the folders that may be the log directory or the partition of a path, widest first."""
    above = os.path.dirname(path)
    if os.path.isdir(path):
        folders = [above, path]
    elif os.path.lexists(path):
        folders = [os.path.dirname(above), above]
    else:
        raise LogDirectoryError(path, NOT_THERE)
    top = os.path.normpath(top)
    yield from (each for each in folders if os.path.commonpath([top, each]) == top)


def _place_of(listing: Listing, path: str) -> dict[str, Any] | None:
    """Return what the explorer has to show for a path; None if this listing does not hold it.

    Raises:
        LogDirectoryError: it is listed, but not Kafka's.
    """
    (root,) = listing.roots
    if root.path == path and root.is_log_directory:
        require_logs(listing)
        return {}
    found = _partition_of(listing, path)
    if found is not None and listing.partitions[found].path == path:
        return {"selected": {"partition": found}}
    file, unread = find_file(listing, path), find_unread(listing, path)
    if file is None and unread is not None and not os.path.isdir(path):
        raise LogDirectoryError(path, unread[1])
    if file is None:
        return None
    if not _is_of_kafka(file):
        raise LogDirectoryError(
            path, "it is not Kafka's: no broker creates a file of this name, and no batch is in it"
        )
    if found is None:
        return {"file": path}
    stem, partition = file.name.partition(".")[0], listing.partitions[found]
    base = int(stem) if stem.isdecimal() else None
    segment = next((each for each in partition.segments if each.base_offset == base), None)
    selected = {"partition": found, "segment": base if segment else None}
    is_shown = segment is not None and segment.path == path
    return {"selected": selected} | ({} if is_shown else {"file": path})


def _partition_of(listing: Listing, path: str) -> str | None:
    """Return the name of the partition whose directory a path is, or is in."""
    folders = (path, os.path.dirname(path))
    return next((n for n, each in listing.partitions.items() if each.path in folders), None)


def _is_of_kafka(file: FileEntry) -> bool:
    """Return whether a file has a name that Kafka gives, or holds batches of records."""
    if file_description(file.name) != UNKNOWN:
        return True
    batches = Segment(0, {"log": file}, is_active=True).batch_parts()
    return file.name.endswith(".log") and any(len(part) for part in batches)


def view_notebook(screen: Workbench, top: str) -> Any:
    """Return a notebook with the code of what a screen shows.

    Args:
        screen: the screen.
        top: where the notebook will be.

    Raises:
        LogDirectoryError: that is inside a log directory that the screen shows.
    """
    paths = [str(root.path) for root in screen.logs.roots]
    for path in paths:
        if os.path.commonpath([path, top]) == path:
            reason = "a notebook would be written into it: start JupyterLab in another folder"
            raise LogDirectoryError(path, reason)
    selected = {name: each for name, each in screen.explorer.selected.items() if each is not None}
    file = screen.explorer.file
    shown = (
        f"import widgets\n{HEAD}\n\nlogs = {opening(paths, screen.logs.tier)}\n"
        f"screen = widgets.Workbench(logs, tab={screen.tab!r})\n"
        f"screen.explorer.selected = {selected!r}\n"
        + (f"screen.explorer.file = {file!r}\n" if file else "")
        + "screen"
    )
    import nbformat

    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_markdown_cell("# A view of Kafka Log Workbench")]
    code = _code_of(screen.views.get(screen.tab))
    made.cells += [nbformat.v4.new_code_cell(each) for each in (shown, code) if each]
    return made


def _code_of(view: Any) -> str:
    """Return the Python code that gives what a view shows; empty if it has none."""
    if isinstance(view, LogExplorer):
        names = ("file", "records", "segments", "directory")
        return str(next(view.query[name] for name in names if name in view.query))
    if isinstance(view, RecordBrowser):
        return str(view.code.get("python", ""))
    return str(getattr(view, "query", ""))
