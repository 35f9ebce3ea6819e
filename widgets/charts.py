"""Charts that follow Jupyter's theme: matplotlib's figures, drawn once for a light and a dark page.

The page's style sheet shows the one that fits, so a chart changes with the theme without a kernel.
"""

import base64
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # takes half a second to import; a notebook without a chart does without
    from matplotlib.figure import Figure
    from pandas import DataFrame

_INK: Final = "#d7dce1"
"""The color on a dark page of what is black on a light one."""

_DARKEST: Final = 0.2  # greys up to here are ink
_LIGHTEST: Final = 0.9  # greys from here are ground
_GREY: Final = 0.12  # the most by which red, green and blue of a grey differ
_AT_THE_RIGHT: Final = frozenset(
    {"boolean", "complex", "decimal", "empty", "floating", "integer", "mixed-integer-float"}
)
"""What pandas infers of a column of numbers."""
_PARTS: Final = ("color", "facecolor", "edgecolor", "markeredgecolor", "markerfacecolor")

_HTML: Final = """<style>
.klw-chart-dark {{ display: none; }}
[data-jp-theme-light="false"] .klw-chart-light {{ display: none; }}
[data-jp-theme-light="false"] .klw-chart-dark {{ display: block !important; }}
</style>
<img class="klw-chart-light" alt="{alt}" src="data:image/png;base64,{light}">
<img class="klw-chart-dark" style="display: none" alt="{alt}" src="data:image/png;base64,{dark}">"""


def follow_theme() -> None:
    """Let the notebook show matplotlib's figures in the colors of Jupyter's theme.

    And texts in pandas' tables at the left, as Jupyter shows them at the right. Outside of a
    notebook, nothing changes. The PNG that a notebook saves stays as it is.
    """
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is not None and shell.display_formatter is not None:
        import matplotlib as mpl
        from matplotlib.figure import Figure

        backend = mpl.get_backend()
        if "inline" in backend:  # its setup, at the first figure, would remove the formatter
            import matplotlib.pyplot as plt

            plt.switch_backend(backend)
        html = shell.display_formatter.formatters["text/html"]
        html.for_type(Figure, themed_html)
        for module in ("pandas", "pandas.core.frame"):  # as pandas 3 says, and before
            html.for_type_by_name(module, "DataFrame", table_html)


def table_html(table: "DataFrame") -> str | None:
    """Return what pandas shows of a table, with texts at the left."""
    from pandas.api.types import infer_dtype

    html: str | None = table._repr_html_()  # type: ignore[operator]  # None: pandas shows text
    if html is None:
        return None
    kinds = [infer_dtype(table.iloc[:, at], skipna=True) for at in range(table.shape[1])]
    ends = [len(kinds) - at for at, kind in enumerate(kinds) if kind not in _AT_THE_RIGHT]
    if "<th>...</th>" in html:  # columns are left out: others have these places
        ends = []
    is_named = infer_dtype(table.index, skipna=True) not in _AT_THE_RIGHT
    name = "-".join(map(str, ["klw-texts", int(is_named), *ends]))  # one rule for all such tables
    names = [f"table.{name} tbody th"] if is_named else []
    cells = [f"table.{name} :is(td, thead th):nth-last-child({end})" for end in ends]
    rule = ", ".join([*cells, *names])
    if not rule:
        return html
    html = html.replace('class="dataframe"', f'class="dataframe {name}"', 1)
    return f"<style>{rule} {{ text-align: left !important; }}</style>\n{html}"


def themed_html(figure: "Figure") -> str:
    """Return a figure as HTML with two pictures, of which the page shows one."""
    from html import escape

    titles = [axes.get_title(where) for axes in figure.axes for where in ("left", "center")]
    alt = escape("; ".join(filter(None, titles)) or "chart", quote=True)
    light = _png(figure)  # this also makes the ticks, which are recolored next
    with dark_colors(figure):
        dark = _png(figure)
    return _HTML.format(alt=alt, light=light, dark=dark)


def _png(figure: "Figure") -> str:
    out = io.BytesIO()
    figure.savefig(out, format="png", bbox_inches="tight", metadata={"Software": None})
    return base64.b64encode(out.getvalue()).decode()


@contextmanager
def dark_colors(figure: "Figure") -> Iterator[None]:
    """Draw a figure for a dark page: what is black becomes light, what is white transparent."""
    before: list[tuple[Any, Any]] = []
    for artist in figure.findobj():
        for part in _PARTS:
            get, put = (getattr(artist, f"{verb}_{part}", None) for verb in ("get", "set"))
            if get is None or put is None:
                continue
            old = get()
            new = _on_dark(old)
            if new is not None:
                before.append((put, old))
                put(new)
    try:
        yield
    finally:
        for put, old in reversed(before):
            put(old)


def _on_dark(color: Any) -> Any:
    """Return a color, or an array of colors, for a dark page; None if unchanged."""
    from matplotlib.colors import to_rgba, to_rgba_array

    try:
        colors = to_rgba_array(color)
    except (TypeError, ValueError):  # "auto", "inherit": it follows another
        return None
    changed = colors.copy()
    for number, (red, green, blue, alpha) in enumerate(colors.tolist()):
        if max(red, green, blue) - min(red, green, blue) > _GREY:
            continue
        if red <= _DARKEST:
            changed[number] = (*to_rgba(_INK)[:3], alpha)
        elif red >= _LIGHTEST:
            changed[number] = (red, green, blue, 0.0)
    if (changed == colors).all():
        return None
    return tuple(changed[0]) if len(changed) == 1 else changed
