"""Scripts and style sheets of the front ends.

Their sources are the modules in ``static/``. `setup.py` bundles each widget's modules into the one
text that anywidget evaluates.
"""

from pathlib import Path
from typing import Final

STATIC: Final = Path(__file__).parent / "static"
BUNDLES: Final = Path(__file__).parent / "bundles"


def script(entry: str) -> str:
    """Return the bundle of an entry module.

    Args:
        entry: its path in `STATIC`, with slashes.

    Raises:
        FileNotFoundError: it was not built.
    """
    path = BUNDLES / entry
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path}: the front ends are not built; run `make env` in the checkout, or "
            "`pip install .`"
        ) from None


def style(*names: str) -> str:
    """Return the style sheet of every widget, and after it those of these names in `STATIC`."""
    return "\n".join((STATIC / each).read_text("utf-8") for each in ("shared/base.css", *names))
