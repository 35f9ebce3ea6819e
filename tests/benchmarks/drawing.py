"""The drawing of the benchmarks: our speed over a peer's, a dot for each version.

A ratio above 1 means that the workbench is faster. The figures are those in the tables of
``docs/measured``. Run as ``python -m tests.benchmarks.drawing``.
"""

import math
import re
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

PROJECT: Final = Path(__file__).parents[2]
MEASURED: Final = PROJECT / "docs" / "measured"
DRAWING: Final = PROJECT / "docs" / "assets" / "benchmarks.svg"


class Measure(NamedTuple):
    """One line of the drawing.

    Attributes:
        label: what it is.
        section: the benchmark.
        row: the first cell of its row.
        column: the head of the cell.
        is_cost: whether the cell is our time over the peer's, rather than our speed.
    """

    label: str
    section: str
    row: str
    column: str
    is_cost: bool = False


MEASURES: Final = (
    Measure("decode values of 100 B / the JVM's loop", "decode", "100 B", "JVM loop"),
    Measure("decode values of 1 KB / the JVM's loop", "decode", "1000 B", "JVM loop"),
    Measure("decode values of 100 B / aiokafka", "decode", "100 B", "aiokafka"),
    Measure("decode values of 100 B / kafka-python", "decode", "100 B", "kafka-python"),
    Measure("append a batch per call / Kafka", "engine", "one a call, as leader", "CPU"),
    Measure("append 64 batches per call / Kafka", "engine", "64 a call, as follower", "CPU"),
    Measure("recover 1 GiB / Kafka", "engine", "1 GiB, one thread", "CPU"),
    Measure("offset of a timestamp / Kafka", "engine", "offset for a timestamp", "CPU"),
    Measure("clean, uncompressed / Kafka", "cleaner", "none", "CPU"),
    Measure("clean, lz4 / Kafka", "cleaner", "lz4", "CPU"),
    Measure("clean, zstd / Kafka", "cleaner", "zstd", "CPU"),
    Measure("Produce of 16 KB / a broker", "requests", "16 KB", "ratio", is_cost=True),
    Measure("Spark, all columns / Parquet", "spark_columns", "all columns", "Parquet"),
    Measure("Spark, count / Kafka source", "spark_columns", "count", "Spark's Kafka source"),
)

WIDTH, LEFT, TOP, LINE = 760, 270, 34, 22  # px
SHADES: Final = ("#c6d8f0", "#8fb3e0", "#5b8dd6", "#1f5fbf")  # the newest is the darkest
STYLE: Final = """
  text { font: 12px/1 system-ui, sans-serif; fill: #1f2328; } .about { fill: #57606a; }
  line { stroke: #d0d7de; } .one { stroke: #57606a; stroke-width: 1.5; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .about { fill: #9da7b3; } line { stroke: #30363d; }
    .one { stroke: #9da7b3; }
  }
"""


def ratios(page: str) -> dict[Measure, float]:
    """Return the figures of a version's page, of several rows the first; others are absent."""
    found: dict[Measure, float] = {}
    parts = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)[1:]
    for section, text in zip(parts[::2], parts[1::2], strict=True):
        heads: list[str] = []
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")] if "|" in line else []
            if not cells or not heads:
                heads = cells
                continue
            row = dict(zip(heads, cells, strict=False))
            for measure in MEASURES:
                figure = re.match(r"([\d.]+)", row.get(measure.column, ""))
                if measure.section == section and measure.row == cells[0] and figure:
                    ratio = float(figure[1])
                    found.setdefault(measure, 1 / ratio if measure.is_cost else ratio)
    return found


def versions() -> dict[str, dict[Measure, float]]:
    """Return the figures of every version, the oldest first."""
    pages = sorted(
        MEASURED.glob("*.md"), key=lambda each: [int(part) for part in each.stem.split(".")]
    )
    return {page.stem: ratios(page.read_text(encoding="utf-8")) for page in pages}


def drawing(found: dict[str, dict[Measure, float]]) -> str:
    """Return the SVG: a line for each measure that a version has, ratios on a logarithmic axis."""
    measures = [each for each in MEASURES if any(each in ratios for ratios in found.values())]
    most = max((ratio for ratios in found.values() for ratio in ratios.values()), default=1)
    least = min((ratio for ratios in found.values() for ratio in ratios.values()), default=1)
    low, high = math.log10(min(least, 0.5) / 1.2), math.log10(max(most, 2) * 1.2)

    def across(ratio: float) -> float:
        return LEFT + (math.log10(ratio) - low) / (high - low) * (WIDTH - LEFT - 70)

    bottom = TOP + LINE * len(measures)
    parts = []
    for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200):
        if low <= math.log10(tick) <= high:
            x = f"{across(tick):.0f}"
            one = ' class="one"' if tick == 1 else ""
            parts.append(f'<line{one} x1="{x}" x2="{x}" y1="{TOP - 8}" y2="{bottom}"/>')
            parts.append(f'<text class="about" x="{x}" y="{TOP - 14}" text-anchor="middle">')
            parts.append(f"{tick:g}x</text>")
    shades = SHADES[-len(found) :] if found else ()
    for number, measure in enumerate(measures):
        y = TOP + LINE * number + LINE / 2
        parts.append(f'<text x="0" y="{y + 4:.0f}">{escape(measure.label)}</text>')
        for (version, ratios), shade in zip([*found.items()][-len(shades) :], shades, strict=True):
            if measure in ratios:
                title = f"<title>{escape(version)}: {ratios[measure]:.2f}x</title>"
                at = f"{across(ratios[measure]):.1f}"
                parts.append(
                    f'<circle cx="{at}" cy="{y:.0f}" r="5" fill="{shade}">{title}</circle>'
                )
        newest = next(iter(reversed(found.values())))
        if measure in newest:
            side, anchor = (
                (-10, "end") if newest[measure] < 1 else (10, "start")
            )  # off the line of 1x
            at = f'x="{across(newest[measure]) + side:.0f}" y="{y + 4:.0f}" text-anchor="{anchor}"'
            parts.append(f"<text {at}>{newest[measure]:.2g}x</text>")
    names = "; ".join(found)
    words = f"Right of 1x the workbench is faster. Versions, the newest darkest: {names}."
    parts.append(f'<text class="about" x="0" y="{bottom + 18}">{escape(words)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 28}" role="img">\n'
        f"<title>Our speed over a peer's, by version</title>\n<style>{STYLE}</style>\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def write() -> None:
    """Write the drawing of all versions."""
    DRAWING.write_text(drawing(versions()), encoding="utf-8")


if __name__ == "__main__":
    write()
