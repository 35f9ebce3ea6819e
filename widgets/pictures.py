"""What all static pictures share: the page, its head, its colors, and names as plain text.

They are for saved notebooks, exported pages and repositories. Drawn with matplotlib, which takes
half a second to import: the mime bundle alone imports this.
"""

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeVar

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.transforms import Affine2D

from workbench.runtime.words import plural

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#B8A800", "#8C6BB1", "#888888")
BLUE, ORANGE, GREEN, PINK, SKY, _, VIOLET, _ = PALETTE
OTHER = "#B9A88F"
"""Of all that are beyond the palette: no color stands for two things."""
_COLORED: Final = 7
CONTROL, DAMAGE, INK, DIM, LINE, HAIR, ACCENT = (
    "#333b45", "#D55E00", "#16191d", "#5b6570", "#d5dae0", "#e9ecf0", "#0b62c4",
)  # fmt: skip
WARN, GOOD = "#B34700", "#00795a"  # of text: darker than those of areas
PICK: Final = "#e1ecf8"  # behind what is selected

WIDTH: Final = 10.0  # inches of each page
LEFT, RIGHT = 0.016, 0.984  # where texts begin and end
_HEAD, ROW = 0.25, 0.19  # inches from the head of a table to its first row, and from row to row

T = TypeVar("T")


def color_of_rank(rank: int) -> str:
    """Return the color of the nth of things that are ranked: the first have one of their own."""
    return PALETTE[rank] if 0 <= rank < _COLORED else OTHER


def color_of_epoch(epochs: Sequence[int], epoch: int) -> str:
    """Return the color of one of the epochs, which ascend: the newest have one of their own."""
    known = [*epochs[-_COLORED:]]
    return color_of_rank(known.index(epoch)) if epoch in known else OTHER


@contextmanager
def _plain_text() -> Iterator[None]:
    """Draw names as they are: no formula between ``$``, no warning for a sign without a glyph."""
    with rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


class Heading(NamedTuple):
    """The head of a column of a table.

    Attributes:
        title: what stands there.
        x: where its texts begin, or with side "right" where they end.
        most: characters of a text; longer ones are shortened.
    """

    title: str
    x: float
    side: str = "left"
    most: int = 200


class Cell(NamedTuple):
    """A text of a table that does not look like the others."""

    text: str
    color: str = INK
    weight: str = "normal"
    family: str = "sans-serif"


class SheetTable(NamedTuple):
    """A table of texts under a head.

    Attributes:
        rows: a text or a `Cell` per column.
        rest: a line below the rows, or "".
    """

    headings: Sequence[Heading]
    rows: Sequence[Sequence[str | Cell]]
    rest: str = ""

    @classmethod
    def of(
        cls,
        headings: Sequence[Heading],
        rows: Sequence[T],
        cells: Callable[[T], Sequence[str | Cell]],
        *,
        most: int,
        noun: str,
    ) -> "SheetTable":
        """Return a table of the first rows; below them, it says how many more there are, or none.

        Args:
            headings: of its columns.
            rows: all rows.
            cells: returns what the table shows of a row.
            most: how many rows it shows.
            noun: what a row is.
        """
        left = len(rows) - most
        rest = f"and {plural(left, f'more {noun}')}" if left > 0 else ""
        return cls(headings, list(map(cells, rows[:most])), rest if rows else f"No {noun}s.")

    @property
    def height(self) -> float:
        """The height in inches, from the middle of the head to below the last line."""
        return _HEAD + ROW * (len(self.rows) + bool(self.rest))

    def places(self, y: float) -> list[float]:
        """Return the height of each row below a head at a height."""
        return [y + _HEAD + ROW * number for number in range(len(self.rows))]


class Sheet:
    """A page: across, parts of its width; down, inches from its top.

    Attributes:
        figure: matplotlib's.
        height: in inches.
    """

    def __init__(self, height: float, dpi: int) -> None:
        self.figure = Figure(figsize=(WIDTH, height), dpi=dpi, facecolor="white")
        self.height = height
        down = Affine2D().scale(1, -1 / height).translate(0, 1)
        self._places = down + self.figure.transFigure

    def head(self, title: str, about: str) -> None:
        """Write what is shown, and a few words about it, above a line."""
        self.text(LEFT, 0.17, title, size=10.5, weight="bold")
        self.text(RIGHT, 0.17, about, size=8.5, color=DIM, ha="right")
        self.line(0, 0.34, 1, 0.34)

    def text(self, x: float, y: float, text: str, **options: Any) -> None:
        """Write a text at a height."""
        style = {"color": INK, "size": 7.5, "va": "center", **options}
        self.figure.text(x, y, text, transform=self._places, **style)

    def line(self, x: float, y: float, to_x: float, to_y: float, **options: Any) -> None:
        """Draw a line."""
        style = {"color": LINE, "lw": 0.8, **options}
        self.figure.add_artist(Line2D([x, to_x], [y, to_y], transform=self._places, **style))

    def box(self, x: float, y: float, width: float, height: float, **options: Any) -> None:
        """Draw a rectangle below a height."""
        place = Rectangle((x, y), width, height, transform=self._places, **options)
        self.figure.add_artist(place)

    def arrow(
        self, start: tuple[float, float], end: tuple[float, float], style: str, **options: Any
    ) -> None:
        """Draw an arrow in a style of matplotlib's."""
        arrow = FancyArrowPatch(
            start, end, arrowstyle=style, mutation_scale=10, transform=self._places, **options
        )
        self.figure.add_artist(arrow)

    def table(self, y: float, table: SheetTable) -> None:
        """Write a table whose head is at a height."""
        for each in table.headings:
            self.text(each.x, y, each.title, color=DIM, ha=each.side)
        left = min(each.x for each in table.headings if each.side == "left")
        self.line(left, y + _HEAD / 2, RIGHT, y + _HEAD / 2, color=HAIR)
        for row, place in zip(table.rows, table.places(y), strict=True):
            for head, given in zip(table.headings, row, strict=True):
                cell = given if isinstance(given, Cell) else Cell(given)
                style = cell._asdict() | {"ha": head.side}
                text = shortened(style.pop("text").replace("\n", " "), head.most)
                self.text(head.x, place, text, **style)
        self.text(left, y + _HEAD + ROW * len(table.rows), table.rest, color=DIM)

    def axes(self, x: float, y: float, width: float, height: float, **options: Any) -> Axes:
        """Return a part of the page with scales of its own."""
        bottom = 1 - (y + height) / self.height
        return self.figure.add_axes((x, bottom, width, height / self.height), **options)

    def png(self) -> bytes:
        """Return the picture as a PNG file."""
        out = io.BytesIO()
        self.figure.savefig(out, format="png", metadata={"Software": None})
        return out.getvalue()


@contextmanager
def sheet(height: float, title: str, about: str = "", *, dpi: int = 110) -> Iterator[Sheet]:
    """Make a page with its head; what is written on it, until the context ends, is plain text.

    Args:
        height: in inches.
        title: what is shown.
        about: a few words about it, at the right.
        dpi: pixels per inch.
    """
    with _plain_text():
        made = Sheet(height, dpi)
        made.head(title, about)
        yield made


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= most else f"{text[: max(most - 1, 0)]}…"


def text_picture(text: str) -> bytes:
    """Return a PNG of one line."""
    with _plain_text():
        page = Sheet(0.4, 110)
        page.text(LEFT, 0.2, text, size=9)
        return page.png()
