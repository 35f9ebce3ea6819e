"""A page of text, such as a widget's HTML, as a file: guarded as every output is."""

from collections.abc import Callable, Iterable

from workbench.file_system.outputs import StrPath, new_file


def write_page(
    path: StrPath,
    make: Callable[[], str],
    inputs: Iterable[StrPath] = (),
    *,
    overwrite: bool = False,
) -> str:
    """Make a page, write it to a file, and return it.

    Args:
        path: the file.
        make: returns the page; it is called when the file can be written.
        inputs: paths that are read meanwhile.
        overwrite: replace a file of that name. A link is replaced, never followed.

    Raises:
        OutputError: the file would be inside an input, or its name exists.
        OSError: it cannot be written.
    """
    with new_file(path, inputs, overwrite=overwrite) as file:
        page = make()
        file.write(page.encode())
    return page
